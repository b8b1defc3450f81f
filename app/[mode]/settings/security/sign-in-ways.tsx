'use client'

import { useQueryClient } from '@tanstack/react-query'
import { Check, CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Fragment, useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { fetchProviderUrl } from '#components/form/auth-calls.ts'
import { useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { passwordChange } from '#lib/people/schema.ts'

interface PasswordFormProps {
  email: string
  /** False for users who sign in through OpenID and never set a password. */
  hasPassword: boolean
}

export function PasswordForm({ email, hasPassword: hadPassword }: PasswordFormProps) {
  const t = useTranslations('password')
  const api = useApi()
  const queryClient = useQueryClient()
  const [hasPassword, setHasPassword] = useState(hadPassword)
  const [changeCount, setChangeCount] = useState(0)
  const { problems, failure, isBusy, props } = useForm({
    schema: hasPassword ? passwordChange.required({ current: true }) : passwordChange,
    read: data => ({
      current: data.get('current') || undefined,
      password: data.get('password') || undefined,
    }),
    send: async body => {
      await api.send('POST', '/person/password', { body })
      setHasPassword(true)
      setChangeCount(changeCount + 1)
      await queryClient.invalidateQueries({ queryKey: ['devices'] })
    },
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      {/* A new key after each change empties the fields. */}
      <Fragment key={changeCount}>
        <input type="email" autoComplete="username" value={email} readOnly hidden />
        {hasPassword ? (
          <Field
            label={t('current')}
            name="current"
            type="password"
            autoComplete="current-password"
            problem={problems.current ? t(`problem.${problems.current}`) : null}
          />
        ) : null}
        <NewPasswordField label={t('new')} problem={problems.password} />
      </Fragment>
      <div className="flex flex-wrap items-center gap-x-3.5 gap-y-2">
        <Button variant="primary" type="submit" disabled={isBusy}>
          {isBusy ? t('busy') : hasPassword ? t('change') : t('set')}
        </Button>
        <p role="status" className="flex items-center gap-1.5 font-medium text-ok text-small">
          {changeCount > 0 ? (
            <>
              <Check size={16} aria-hidden className="shrink-0" />
              {t('changed')}
            </>
          ) : null}
        </p>
      </div>
    </form>
  )
}

interface LinkProviderProps {
  provider: string
  name: string
  path: string
  isRefused: boolean
}

/** Asks for a proof of identity, then lets the provider confirm the e-mail of this user. */
export function LinkProvider({ provider, name, path, isRefused }: LinkProviderProps) {
  const t = useTranslations('openid')
  const api = useApi()
  const [isUnreachable, setUnreachable] = useState(false)
  const connection = useAction(async () => {
    setUnreachable(false)
    await api.send('POST', '/person/openid')
    const address = await fetchProviderUrl(provider, path)
    if (address) location.assign(address)
    else setUnreachable(true)
  })
  const isBusy = connection.isBusy || (connection.isDone && !isUnreachable)
  return (
    <div className="grid gap-5">
      <Problem error={connection.failure} />
      {isUnreachable || isRefused ? (
        <Notice tone="bad" icon={CircleAlert} role="alert">
          {isUnreachable ? t('failed') : t('refused', { name })}
        </Notice>
      ) : null}
      <div>
        <Button variant="quiet" onClick={connection.run} disabled={isBusy}>
          {t('connect', { name })}
        </Button>
      </div>
    </div>
  )
}
