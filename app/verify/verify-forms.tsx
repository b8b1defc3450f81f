'use client'

import { MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import * as z from 'zod'
import { Problem } from '#components/api/problem.tsx'
import { useForm } from '#components/form/form.tsx'
import { anonymousApi } from '#components/join/open-account.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { emailConfirmation } from '#lib/people/schema.ts'

const NO_FIELDS = z.object({})

export function LinkRequest({ email, isMailLogged }: { email: string; isMailLogged: boolean }) {
  const t = useTranslations('verify')
  const [isDone, setDone] = useState(false)
  const { failure, isBusy, props } = useForm({
    schema: NO_FIELDS,
    read: () => ({}),
    async send() {
      await anonymousApi.post('/person/email')
      setDone(true)
    },
  })
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
    <form {...props}>
      <Problem error={failure} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('send')}
      </Button>
    </form>
  )
}

export function ConfirmButton({ secret }: { secret: string }) {
  const t = useTranslations('verify')
  const [isDone, setDone] = useState(false)
  const { failure, isBusy, props } = useForm({
    schema: emailConfirmation,
    read: () => ({ secret }),
    async send(body) {
      await anonymousApi.post('/person/email/confirm', { body })
      setDone(true)
      location.assign('/')
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      {failure ? (
        <a href="/verify" className={buttonClass('quiet')}>
          {t('again')}
        </a>
      ) : null}
      <Button variant="primary" type="submit" disabled={isBusy || isDone} className="h-11 w-full">
        {isBusy || isDone ? t('busy') : t('confirm')}
      </Button>
    </form>
  )
}
