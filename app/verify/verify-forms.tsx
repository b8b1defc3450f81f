'use client'

import { MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'

export function LinkRequest({ email, isMailLogged }: { email: string; isMailLogged: boolean }) {
  const t = useTranslations('verify')
  const { run, failure, isBusy, isDone } = useAction(() =>
    anonymousApi.send('POST', '/person/email'),
  )
  if (isDone) {
    return (
      <div role="status">
        <MailCheck size={22} strokeWidth={1.8} aria-hidden className="text-ok" />
        <p className="mt-3 break-words font-semibold">{t('sent', { email })}</p>
        <p className="mt-1.5 text-muted text-small">
          {isMailLogged ? t('sentToLog') : t('sentText')}
        </p>
      </div>
    )
  }
  return (
    <>
      <Problem error={failure} />
      <Button variant="primary" onClick={run} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('send')}
      </Button>
    </>
  )
}
