'use client'

import { CircleCheck, MailCheck } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { ApiError, createVisitorApi } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { useForm } from '#components/form/form.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Field } from '#components/ui/field.tsx'
import { resetConfirmation, resetRequest } from '#lib/people/schema.ts'

/** Requests a reset link. The response is the same whether or not the e-mail belongs to a user. */
export function ResetRequestForm() {
  const t = useTranslations('reset')
  const [sentTo, setSentTo] = useState<string | null>(null)
  const { problems, failure, isBusy, props } = useForm({
    schema: resetRequest,
    read: data => ({ email: data.get('email') || undefined }),
    send: async body => {
      await createVisitorApi().post('/visitor/reset', { body })
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

interface NewPasswordFormProps {
  secret: string
  email: string
}

export function NewPasswordForm({ secret, email }: NewPasswordFormProps) {
  const t = useTranslations('reset')
  const [isDone, setDone] = useState(false)
  const { problems, failure, isBusy, props } = useForm({
    schema: resetConfirmation,
    read: data => ({ secret, password: data.get('password') || undefined }),
    send: async body => {
      await createVisitorApi().post('/visitor/reset/confirm', { body })
      setDone(true)
    },
  })
  if (isDone) {
    return (
      <div role="status">
        <CircleCheck size={22} strokeWidth={1.8} aria-hidden className="text-ok" />
        <p className="mt-3 font-semibold">{t('done')}</p>
        <p className="mt-1.5 mb-5 text-muted text-small">{t('doneText')}</p>
        {/* Full page load, to leave the URL whose secret has been used. */}
        <a href="/login" className={`${buttonClass('primary')} h-11 w-full`}>
          {t('signIn')}
        </a>
      </div>
    )
  }
  const isExpired = failure instanceof ApiError && failure.code === 'link_expired'
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      {isExpired ? (
        <a href="/reset" className={buttonClass('quiet')}>
          {t('again')}
        </a>
      ) : null}
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <NewPasswordField label={t('new')} problem={problems.password} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('saving') : t('choose')}
      </Button>
    </form>
  )
}
