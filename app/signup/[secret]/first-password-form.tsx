'use client'

import { useTranslations } from 'next-intl'
import { Problem } from '#components/api/problem.tsx'
import { useForm } from '#components/form/form.tsx'
import { anonymousApi, signInToAccount } from '#components/join/open-account.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { signUpConfirmation } from '#lib/accounts/schema.ts'

export function FirstPasswordForm({ secret, email }: { secret: string; email: string }) {
  const t = useTranslations('signUp')
  const { problems, failure, isBusy, props } = useForm({
    schema: signUpConfirmation,
    read: data => ({ secret, password: data.get('password') || undefined }),
    send: async body => {
      const response = await anonymousApi.post('/visitor/signup/confirm', { body })
      await signInToAccount(response.data.account_id, email, body.password)
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <NewPasswordField label={t('password')} problem={problems.password} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('open')}
      </Button>
    </form>
  )
}
