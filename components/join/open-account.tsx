'use client'

import { MailCheck } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { createApi } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { sendSignIn } from '#components/api/sign-in.ts'
import { useForm } from '#components/form/form.tsx'
import { storePreference } from '#components/nav/preferences.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { accountRequest, signUpRequest } from '#lib/accounts/schema.ts'
import { ACCOUNT_COOKIE } from '#lib/session/schema.ts'

/** Requests a sign-up mail. The response is the same whether or not the e-mail can sign in. */
export function SignUpForm({ isMailLogged }: { isMailLogged: boolean }) {
  const t = useTranslations('signUp')
  const locale = useLocale()
  const [sentTo, setSentTo] = useState<string | null>(null)
  const { problems, failure, isBusy, props } = useForm({
    schema: signUpRequest,
    read: data => {
      const text = (name: string) => String(data.get(name) ?? '').trim() || undefined
      const [account_name, full_name] = [text('account_name'), text('full_name')]
      return { account_name, full_name, email: text('email'), locale }
    },
    send: async body => {
      await anonymousApi.post('/visitor/signup', { body })
      setSentTo(body.email)
    },
  })
  if (sentTo !== null) {
    return (
      <div role="status">
        <MailCheck size={22} strokeWidth={1.8} aria-hidden className="text-ok" />
        <p className="mt-3 break-words font-semibold">{t('sent', { email: sentTo })}</p>
        <p className="mt-1.5 text-muted text-small">
          {isMailLogged ? t('sentToLog') : t('sentText')}
        </p>
      </div>
    )
  }
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <AccountNameField problem={problems.account_name} />
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
        problem={problems.email ? t(`emailProblem.${problems.email}`) : null}
      />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('send')}
      </Button>
    </form>
  )
}

export function AccountNameField({ problem }: { problem: 'required' | 'invalid' | undefined }) {
  const t = useTranslations('signUp')
  return (
    <Field
      label={t('accountName')}
      name="account_name"
      maxLength={100}
      autoComplete="organization"
      hint={t('accountNameHint')}
      problem={problem ? t(`accountNameProblem.${problem}`) : null}
    />
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
      const response = await anonymousApi.post('/person/accounts', { body })
      enterAccount(response.data.account_id)
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <AccountNameField problem={problems.account_name} />
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {isBusy ? t('busy') : t('open')}
      </Button>
    </form>
  )
}

export const anonymousApi = createApi({ mode: 'test', userId: null, accountId: null })

export function enterAccount(accountId: string): void {
  storePreference(ACCOUNT_COOKIE, accountId)
  location.assign('/test/home')
}

export async function signInToAccount(
  accountId: string,
  email: string,
  password: string,
): Promise<void> {
  storePreference(ACCOUNT_COOKIE, accountId)
  if ((await sendSignIn({ email, password })) === 'ok') return enterAccount(accountId)
  location.assign('/login')
}
