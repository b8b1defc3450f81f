'use client'

import { useTranslations } from 'next-intl'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { type AccountLimits, accountLimits, LIMIT_NAMES } from '#lib/accounts/schema.ts'

const HINTS: Partial<Record<keyof AccountLimits, 'limit.night' | 'limit.day'>> = {
  night_max: 'limit.night',
  day_max: 'limit.day',
}

export function AccountLimitsForm({
  accountId,
  limits,
}: {
  accountId: string
  limits: AccountLimits
}) {
  const t = useTranslations('adminAccount')
  return (
    <LimitsForm
      path={`/admin/accounts/${accountId}/limits`}
      schema={accountLimits}
      names={LIMIT_NAMES}
      limits={limits}
      textsOf={name => {
        const hint = HINTS[name]
        return { label: t(`limit.${name}`), ...(hint && { hint: t(hint) }) }
      }}
      none={t('limit.none')}
      invalid={t('limit.invalid')}
    />
  )
}
