'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi } from '#components/join/enter.ts'
import { Button, buttonClass } from '#components/ui/button.tsx'

export function ConfirmButton({ secret }: { secret: string }) {
  const t = useTranslations('verify')
  const { run, failure, ...confirmation } = useAction(async () => {
    await anonymousApi.send('POST', '/person/email/confirm', { body: { secret } })
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
