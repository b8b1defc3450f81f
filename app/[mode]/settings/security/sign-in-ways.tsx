'use client'

import { useQueryClient } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Fragment, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { NewPasswordField } from '#components/proof/new-password-field.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
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
