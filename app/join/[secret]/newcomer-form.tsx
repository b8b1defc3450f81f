'use client'

import { useTranslations } from 'next-intl'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { anonymousApi, signInToAccount } from '#components/join/enter.ts'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { newcomerRequest } from '#lib/rooms/accounts/schema.ts'

export function NewcomerForm({ secret, email }: { secret: string; email: string }) {
  const t = useTranslations('join')
  const { problems, failure, isBusy, props } = useForm({
    schema: newcomerRequest,
    read: data => ({
      secret,
      full_name: String(data.get('full_name')).trim() || undefined,
      password: data.get('password') || undefined,
    }),
    send: async body => {
      const response = await anonymousApi.send<{ data: { account_id: string } }>(
        'POST',
        '/visitor/join',
        {
          body,
        },
      )
      await signInToAccount(response.data.account_id, email, body.password)
    },
  })
  return (
    <form {...props} method="post" className="grid gap-5">
      <Problem error={failure} />
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
        {isBusy ? t('busy') : t('join')}
      </Button>
    </form>
  )
}
