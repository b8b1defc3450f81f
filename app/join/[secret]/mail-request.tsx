'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'

interface MailRequestProps {
  secret: string
  email: string
}

/** Sends the mailed link again, to a visitor who has only the link that the inviter was shown. */
export function MailRequest({ secret, email }: MailRequestProps) {
  const t = useTranslations('join')
  const [state, setState] = useState<'idle' | 'busy' | 'sent'>('idle')
  const [failure, setFailure] = useState<unknown>(null)
  async function send() {
    setState('busy')
    setFailure(null)
    try {
      await anonymousApi.send('POST', '/visitor/join/mail', { body: { secret } })
      setState('sent')
    } catch (error) {
      setFailure(error)
      setState('idle')
    }
  }
  if (state === 'sent') {
    return (
      <p role="status" className="break-words text-muted">
        {t('mailSent', { email })}
      </p>
    )
  }
  return (
    <>
      <Problem error={failure} />
      <Button variant="quiet" onClick={send} disabled={state === 'busy'} className="h-11 w-full">
        {state === 'busy' ? t('busy') : t('sendMail')}
      </Button>
    </>
  )
}
