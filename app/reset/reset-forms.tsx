'use client'

import { MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { createVisitorApi } from '#lib/core/call-api.ts'
import { resetRequest } from '#lib/people/schema.ts'

/** Requests a reset link. The response is the same whether or not the e-mail belongs to a user. */
export function ResetRequestForm() {
  const t = useTranslations('reset')
  const [sentTo, setSentTo] = useState<string | null>(null)
  const { problems, failure, isBusy, props } = useForm({
    schema: resetRequest,
    read: data => ({ email: data.get('email') || undefined }),
    send: async body => {
      await createVisitorApi().send('POST', '/visitor/reset', { body })
      setSentTo(body.email)
    },
  })
  if (sentTo !== null) {
    return (
      <div role="status">
        <MailCheck size={22} strokeWidth={1.8} aria-hidden className="text-ok" />
        <p className="mt-3 break-words font-semibold">{t('sent', { email: sentTo })}</p>
        <p className="mt-1.5 text-muted text-small">{t('sentText')}</p>
      </div>
    )
  }
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="username"
        problem={problems.email ? t('emailInvalid') : null}
      />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('asking') : t('ask')}
      </Button>
    </form>
  )
}
