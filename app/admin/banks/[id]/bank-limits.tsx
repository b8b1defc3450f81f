'use client'

import { useTranslations } from 'next-intl'
import { LimitsForm } from '#app/admin/limits-form.tsx'
import { ConnectionLimits } from '#lib/banks/schema.ts'

const NAMES = ['payout_max', 'payout_day_max'] as const

/** Limits of what is paid out through the connection. */
export function BankLimits({ bankId, limits }: { bankId: string; limits: ConnectionLimits }) {
  const t = useTranslations('banks')
  return (
    <LimitsForm
      path={`/admin/banks/${bankId}/limits`}
      schema={ConnectionLimits}
      names={NAMES}
      limits={limits}
      textsOf={name => ({ label: t(`limits.${name}`) })}
      none={t('limits.none')}
      invalid={t('limits.invalid')}
    />
  )
}
