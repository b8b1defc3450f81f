'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { endProposal, type OrderEnding } from '#lib/operator/schema.ts'
import { END_OUTCOMES } from '#lib/orders/states.ts'

interface EndDialogProps {
  orderId: string
  kind: OrderEnding['kind']
  onClose: () => void
}

/** Asks how the order ended and how the admin knows. */
export function EndDialog({ orderId, kind, onClose }: EndDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const router = useRouter()
  const form = useForm({
    schema: endProposal,
    read: data => ({
      outcome: data.get('outcome') || undefined,
      reason: String(data.get('reason')).trim() || undefined,
    }),
    send: async body => {
      await api.post('/admin/orders/[id]/end', { params: { id: orderId }, body })
      router.refresh()
      onClose()
    },
  })
  return (
    <Dialog onClose={onClose} title={t('ending.dialogTitle')} description={t('ending.dialogText')}>
      <form {...form.props} className="grid gap-5">
        <Select
          label={t('ending.outcome')}
          name="outcome"
          defaultValue=""
          problem={form.problems.outcome ? t('ui.required') : null}
        >
          <option value="">{t('ending.choose')}</option>
          {END_OUTCOMES.map(outcome => (
            <option key={outcome} value={outcome}>
              {t(`ending.choice.${kind}.${outcome}`)}
            </option>
          ))}
        </Select>
        <Field
          label={t('adminDeed.reason')}
          name="reason"
          maxLength={200}
          autoComplete="off"
          hint={t(kind === 'return' ? 'ending.reasonHintStaff' : 'ending.reasonHint')}
          problem={form.problems.reason ? t('adminDeed.reasonInvalid') : null}
        />
        <DialogActions
          action={t('ending.propose')}
          busy={t('adminDeed.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
