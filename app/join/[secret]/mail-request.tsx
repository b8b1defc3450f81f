'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
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
  const { run, failure, isBusy, isDone } = useAction(() =>
    anonymousApi.send('POST', '/visitor/join/mail', { body: { secret } }),
  )
  if (isDone) {
    return (
      <p role="status" className="text-muted">
        {t('mailSent', { email })}
      </p>
    )
  }
  return (
    <>
      <Problem error={failure} />
      <Button variant="quiet" onClick={run} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('sendMail')}
      </Button>
    </>
  )
}
