'use client'

import { X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { useReturnFocus } from '#components/ui/return-focus.ts'

interface DialogProps extends DialogContentProps {
  isOpen: boolean
  /** Called by Escape, a click outside and the cross. */
  onClose: () => void
}

export function Dialog({ isOpen, onClose, ...content }: DialogProps) {
  return (
    <Radix.Root open={isOpen} onOpenChange={open => open || onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-50 bg-[rgb(0_0_0/0.45)]" />
        <DialogContent {...content} />
      </Radix.Portal>
    </Radix.Root>
  )
}

interface DialogContentProps {
  title: string
  /** Description of the dialog, which screen readers read with the title. */
  description?: ReactNode
  hasCross?: boolean
  children: ReactNode
}

function DialogContent({ title, description, hasCross = true, children }: DialogContentProps) {
  const t = useTranslations('ui')
  return (
    <Radix.Content
      onCloseAutoFocus={useReturnFocus()}
      {...(description ? {} : { 'aria-describedby': undefined })}
      className="wrap-anywhere fixed inset-x-0 bottom-0 z-50 max-h-[92dvh] overflow-y-auto rounded-t-sheet border border-line bg-surface p-5 pb-[calc(20px+env(safe-area-inset-bottom))] text-ink shadow-over md:inset-x-auto md:top-1/2 md:bottom-auto md:left-1/2 md:w-[min(520px,92vw)] md:-translate-x-1/2 md:-translate-y-1/2 md:rounded-sheet md:p-7"
    >
      <div className="flex items-start justify-between gap-4">
        <Radix.Title className="text-title">{title}</Radix.Title>
        {hasCross ? (
          <Radix.Close
            aria-label={t('close')}
            className="-mt-2 -mr-2 grid size-10 shrink-0 place-items-center rounded-control text-muted hover:bg-sunk hover:text-ink"
          >
            <X size={18} aria-hidden />
          </Radix.Close>
        ) : null}
      </div>
      {description ? (
        <Radix.Description className="mt-1.5 text-muted text-small">
          {description}
        </Radix.Description>
      ) : null}
      <div className="mt-5">{children}</div>
    </Radix.Content>
  )
}

interface DialogActionsProps {
  /** Label of the confirming button: a verb. */
  action: string
  busy: string
  isBusy: boolean
  failure: unknown
  isDestructive?: boolean
  /** Label of the other button where "Cancel" would be ambiguous. */
  keep?: string
  onCancel: () => void
  /** Called by the confirming button. If absent, the button submits the form. */
  onConfirm?: () => void
}

export function DialogActions(props: DialogActionsProps) {
  const { action, busy, isBusy, failure, isDestructive, keep, onCancel, onConfirm } = props
  const t = useTranslations('ui')
  return (
    <>
      <Problem error={failure} />
      <div className="flex flex-wrap justify-end gap-3">
        <Button variant="quiet" onClick={onCancel}>
          {keep ?? t('cancel')}
        </Button>
        <Button
          variant="primary"
          type={onConfirm ? 'button' : 'submit'}
          disabled={isBusy}
          onClick={onConfirm}
          className={isDestructive ? 'bg-bad! text-surface!' : ''}
        >
          {isBusy ? busy : action}
        </Button>
      </div>
    </>
  )
}
