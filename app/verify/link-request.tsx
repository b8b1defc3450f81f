'use client'

import { MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi } from '#components/join/enter.ts'
import { Button } from '#components/ui/button.tsx'

export function LinkRequest({ email, isMailLogged }: { email: string; isMailLogged: boolean }) {
  const t = useTranslations('verify')
  const [state, setState] = useState<'idle' | 'busy' | 'sent'>('idle')
  const [failure, setFailure] = useState<unknown>(null)
  async function send() {
    setState('busy')
    setFailure(null)
    try {
      await anonymousApi.send('POST', '/person/email')
      setState('sent')
    } catch (error) {
      setFailure(error)
      setState('idle')
    }
  }
  if (state === 'sent') {
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
      <Button variant="primary" onClick={send} disabled={state === 'busy'} className="h-11 w-full">
        {state === 'busy' ? t('busy') : t('send')}
      </Button>
    </>
  )
}
