'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi, enterAccount, signInToAccount } from '#components/join/enter.ts'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ApiError } from '#lib/edge/client/api.ts'
import { accountRequest, signUpRequest } from '#lib/rooms/accounts/schema.ts'

interface SignUpFormProps {
  /** Invitation by the operator: the secret and the invited e-mail. */
  invitation?: { secret: string; email: string }
}

export function SignUpForm({ invitation }: SignUpFormProps) {
  const t = useTranslations('signUp')
  const [isEmailTaken, setEmailTaken] = useState(false)
  const { problems, failure, isBusy, props } = useForm({
    schema: signUpRequest,
    read: data => {
      const text = (name: string) => String(data.get(name) ?? '').trim() || undefined
      const [account_name, full_name, email] = [
        text('account_name'),
        text('full_name'),
        text('email'),
      ]
      const password = data.get('password') || undefined
      return { account_name, full_name, email, password, secret: invitation?.secret }
    },
    send: async body => {
      try {
        const request = { body }
        const response = await anonymousApi.send<{ data: { account_id: string } }>(
          'POST',
          '/visitor/signup',
          request,
        )
        await signInToAccount(response.data.account_id, body.email, body.password)
      } catch (error) {
        setEmailTaken(error instanceof ApiError && error.fields.email !== undefined)
        throw error
      }
    },
  })
  const emailProblem = isEmailTaken ? 'taken' : problems.email
  const onInput = () => {
    props.onInput()
    setEmailTaken(false)
  }
  return (
    <form {...props} onInput={onInput} method="post" className="grid gap-5">
      <Problem error={failure} />
      <Field
        label={t('accountName')}
        name="account_name"
        maxLength={100}
        autoComplete="organization"
        hint={t('accountNameHint')}
        problem={problems.account_name ? t(`accountNameProblem.${problems.account_name}`) : null}
      />
      <Field
        label={t('name')}
        name="full_name"
        maxLength={100}
        autoComplete="name"
        problem={problems.full_name ? t(`nameProblem.${problems.full_name}`) : null}
      />
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="username"
        defaultValue={invitation?.email}
        readOnly={invitation !== undefined}
        problem={problems.email && emailProblem ? t(`emailProblem.${emailProblem}`) : null}
      />
      <NewPasswordField label={t('password')} problem={problems.password} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('open')}
      </Button>
    </form>
  )
}

export function OpenAccountForm({ secret }: { secret?: string }) {
  const t = useTranslations('signUp')
  const { problems, failure, isBusy, props } = useForm({
    schema: accountRequest,
    read: data => ({
      account_name: String(data.get('account_name')).trim() || undefined,
      secret,
    }),
    send: async body => {
      const response = await anonymousApi.send<{ data: { account_id: string } }>(
        'POST',
        '/person/accounts',
        { body },
      )
      enterAccount(response.data.account_id)
    },
  })
  return (
    <form {...props} method="post" className="grid gap-5">
      <Problem error={failure} />
      <Field
        label={t('accountName')}
        name="account_name"
        maxLength={100}
        autoComplete="organization"
        hint={t('accountNameHint')}
        problem={problems.account_name ? t(`accountNameProblem.${problems.account_name}`) : null}
      />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('open')}
      </Button>
    </form>
  )
}
