'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useForm } from '#components/form/form.tsx'
import {
  AccountNameField,
  anonymousApi,
  enterAccount,
  signInToAccount,
} from '#components/join/open-account.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { joinRequest, newcomerRequest } from '#lib/accounts/schema.ts'

/** Accepts the invitation, for users who are signed in with the invited e-mail. */
export function JoinButton({ secret }: { secret: string }) {
  const t = useTranslations('join')
  const [isDone, setDone] = useState(false)
  const { failure, isBusy, props } = useForm({
    schema: joinRequest,
    read: () => ({ secret }),
    async send(body) {
      const { data } = await anonymousApi.post('/person/join', { body })
      setDone(true)
      enterAccount(data.account_id)
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <Button variant="primary" type="submit" disabled={isBusy || isDone} className="h-11 w-full">
        {isBusy || isDone ? t('busy') : t('join')}
      </Button>
    </form>
  )
}

interface MailRequestProps {
  secret: string
  email: string
}

/** Sends the mailed link again, to a visitor who has only the link that the inviter was shown. */
export function MailRequest({ secret, email }: MailRequestProps) {
  const t = useTranslations('join')
  const [isDone, setDone] = useState(false)
  const { failure, isBusy, props } = useForm({
    schema: joinRequest,
    read: () => ({ secret }),
    async send(body) {
      await anonymousApi.post('/visitor/join/mail', { body })
      setDone(true)
    },
  })
  if (isDone) {
    return (
      <p role="status" className="text-muted">
        {t('mailSent', { email })}
      </p>
    )
  }
  return (
    <form {...props}>
      <Problem error={failure} />
      <Button variant="quiet" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('sendMail')}
      </Button>
    </form>
  )
}

interface NewcomerFormProps {
  secret: string
  email: string
  /** Whether the invitation opens an account. */
  isOpening: boolean
}

export function NewcomerForm({ secret, email, isOpening }: NewcomerFormProps) {
  const t = useTranslations('join')
  const words = useTranslations('signUp')
  const { problems, failure, isBusy, props } = useForm({
    schema: isOpening ? newcomerRequest.required({ account_name: true }) : newcomerRequest,
    read: data => ({
      secret,
      full_name: String(data.get('full_name')).trim() || undefined,
      password: data.get('password') || undefined,
      account_name: String(data.get('account_name') ?? '').trim() || undefined,
    }),
    send: async body => {
      const response = await anonymousApi.post('/visitor/join', {
        body,
      })
      await signInToAccount(response.data.account_id, email, body.password)
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      {isOpening ? <AccountNameField problem={problems.account_name} /> : null}
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="username"
        defaultValue={email}
        readOnly
      />
      <Field
        label={t('name')}
        name="full_name"
        maxLength={100}
        autoComplete="name"
        problem={problems.full_name ? t(`nameProblem.${problems.full_name}`) : null}
      />
      <NewPasswordField label={t('password')} problem={problems.password} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : isOpening ? words('open') : t('join')}
      </Button>
    </form>
  )
}
