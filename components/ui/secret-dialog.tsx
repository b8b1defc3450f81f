'use client'

import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Notice } from '#components/ui/notice.tsx'

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
      isOpen
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
