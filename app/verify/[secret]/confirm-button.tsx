'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi } from '#components/join/enter.ts'
import { Button, buttonClass } from '#components/ui/button.tsx'

export function ConfirmButton({ secret }: { secret: string }) {
  const t = useTranslations('verify')
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  async function confirm() {
    setBusy(true)
    setFailure(null)
    try {
      await anonymousApi.send('POST', '/person/email/confirm', { body: { secret } })
      location.assign('/')
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <div className="grid gap-5">
      <Problem error={failure} />
      {failure ? (
        <a href="/verify" className={buttonClass('quiet')}>
          {t('again')}
        </a>
      ) : null}
      <Button variant="primary" onClick={confirm} disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('confirm')}
      </Button>
    </div>
  )
}
