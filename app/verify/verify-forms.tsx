'use client'

import { MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Problem } from '#components/api/problem.tsx'
import { useAction } from '#components/api/use-api.ts'
import { anonymousApi } from '#components/join/open-account.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'

export function LinkRequest({ email, isMailLogged }: { email: string; isMailLogged: boolean }) {
  const t = useTranslations('verify')
  const { run, failure, isBusy, isDone } = useAction(() => anonymousApi.post('/person/email'))
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

export function ConfirmButton({ secret }: { secret: string }) {
  const t = useTranslations('verify')
  const { run, failure, ...confirmation } = useAction(async () => {
    await anonymousApi.post('/person/email/confirm', { body: { secret } })
    location.assign('/')
  })
  const isBusy = confirmation.isBusy || confirmation.isDone
  return (
    <div className="grid gap-5">
      <Problem error={failure} />
      {failure ? (
        <a href="/verify" className={buttonClass('quiet')}>
          {t('again')}
        </a>
      ) : null}
      <Button variant="primary" onClick={run} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('confirm')}
      </Button>
    </div>
  )
}
