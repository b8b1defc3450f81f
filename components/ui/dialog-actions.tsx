import { useTranslations } from 'next-intl'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'

interface DialogActionsProps {
  /** What the button does, in a verb, and what it says meanwhile. */
  action: string
  busy: string
  isBusy: boolean
  failure: unknown
  /** It takes something away from somebody. */
  isHarsh?: boolean
  onCancel: () => void
  /** What it does where there is no form that it submits. */
  onAct?: () => void
}

/** The end of a dialog: why it failed, the way out, and the deed. */
export function DialogActions(props: DialogActionsProps) {
  const { action, busy, isBusy, failure, isHarsh, onCancel, onAct } = props
  const t = useTranslations('ui')
  return (
    <>
      <Problem error={failure} />
      <div className="flex flex-wrap justify-end gap-3">
        <Button look="quiet" onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button
          look="primary"
          type={onAct ? 'button' : 'submit'}
          disabled={isBusy}
          onClick={onAct}
          className={isHarsh ? 'bg-bad! text-surface!' : ''}
        >
          {isBusy ? busy : action}
        </Button>
      </div>
    </>
  )
}
