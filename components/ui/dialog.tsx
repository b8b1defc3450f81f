'use client'

import { TriangleAlert, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { useReturnFocus } from '#components/ui/return-focus.ts'
import { Notice } from '#components/ui/sheet.tsx'

interface DialogProps extends DialogContentProps {
  /** Called by Escape, a click outside and the cross. */
  onClose: () => void
}

export function Dialog({ onClose, ...content }: DialogProps) {
  return (
    <Radix.Root open onOpenChange={open => open || onClose()}>
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
  /** Label of the confirming button: what it does, such as "Delete". */
  action: string
  /** Label while it does that. Default: the same. */
  busy?: string
  isBusy: boolean
  /** Absent where the dialog itself says what went wrong. */
  failure?: unknown
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
          {isBusy ? (busy ?? action) : action}
        </Button>
      </div>
    </>
  )
}

interface SecretDialogProps {
  title: string
  description?: ReactNode
  /** Label of the only button that closes the dialog: the reader has saved the secret. */
  savedLabel: string
  onSaved: () => void
  children: ReactNode
}

/** Shows a secret that the server never returns again, until the reader has saved it. */
export function SecretDialog(props: SecretDialogProps) {
  const { title, description, savedLabel, onSaved, children } = props
  const t = useTranslations('ui')
  const [isRefused, setRefused] = useState(false)
  const leave = useHeldPage(setRefused)
  return (
    <Dialog
      onClose={() => setRefused(true)}
      title={title}
      description={description}
      hasCross={false}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        {children}
        {isRefused ? (
          <Notice tone="bad" icon={TriangleAlert} role="alert">
            {t('saveFirst')}
          </Notice>
        ) : null}
        <div className="flex justify-end">
          <Button variant="primary" onClick={() => leave(onSaved)} className="max-sm:w-full">
            {savedLabel}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/**
 * Keeps the browser on the page: a history entry in front takes the Back button, and the browser asks
 * before a reload. Returns the function that removes the entry and then calls its argument.
 */
function useHeldPage(setRefused: (isRefused: true) => void): (onLeft: () => void) => void {
  const hasEntry = useRef(false)
  const listeners = useRef<AbortController | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    listeners.current = controller
    if (!hasEntry.current) history.pushState({}, '')
    hasEntry.current = true
    let isReturning = false
    const returnForward = () => {
      isReturning = !isReturning
      if (!isReturning) return
      history.forward()
      setRefused(true)
    }
    const { signal } = controller
    addEventListener('popstate', returnForward, { signal })
    addEventListener('beforeunload', event => event.preventDefault(), { signal })
    return () => controller.abort()
  }, [setRefused])
  return onLeft => {
    listeners.current?.abort()
    addEventListener('popstate', onLeft, { once: true })
    history.back()
  }
}
