'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { editFormProps, useForm } from '#components/form/form.ts'
import { SaveButton } from '#components/form/save.tsx'
import { MoneyField } from '#components/ui/field.tsx'
import { formatReais, parseReais } from '#lib/base/money.ts'
import { type AccountLimits, accountLimits, LIMIT_NAMES } from '#lib/rooms/accounts/schema.ts'

interface LimitsFormProps {
  accountId: string
  limits: AccountLimits
}

const HINTS: Partial<Record<keyof AccountLimits, 'limit.night' | 'limit.day'>> = {
  night_max: 'limit.night',
  day_max: 'limit.day',
}

/** Limits of an account in live mode; an empty field means no limit. */
export function LimitsForm({ accountId, limits }: LimitsFormProps) {
  const t = useTranslations('adminAccount')
  const locale = useLocale()
  const api = useApi()
  const [stored, setStored] = useState(limits)
  const [isUnchanged, setUnchanged] = useState(true)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema: accountLimits,
    read: readLimits,
    send: async body => {
      const path = `/admin/accounts/${accountId}/limits`
      setStored((await api.send<{ data: AccountLimits }>('PUT', path, { body })).data)
      setUnchanged(true)
      setSaved(true)
    },
  })
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        const current = readLimits(data)
        setSaved(false)
        setUnchanged(LIMIT_NAMES.every(name => current[name] === stored[name]))
      })}
      className="grid gap-5"
    >
      {LIMIT_NAMES.map(name => (
        <MoneyField
          key={name}
          label={t(`limit.${name}`)}
          name={name}
          defaultValue={stored[name] === null ? '' : formatReais(stored[name], locale)}
          placeholder={t('limit.none')}
          hint={HINTS[name] && t(HINTS[name])}
          problem={form.problems[name] ? t('limit.invalid') : null}
        />
      ))}
      <SaveButton
        isBusy={form.isBusy}
        isSaved={isSaved}
        failure={form.failure}
        isUnchanged={isUnchanged}
      />
    </form>
  )
}

/** Reads the limits; an invalid amount becomes NaN, which the schema refuses. */
function readLimits(data: FormData): Record<(typeof LIMIT_NAMES)[number], number | null> {
  const readLimit = (name: string) => {
    const text = String(data.get(name) ?? '').trim()
    return text === '' ? null : (parseReais(text) ?? Number.NaN)
  }
  const [charge_max, withdrawal_max, night_max, day_max] = LIMIT_NAMES.map(readLimit)
  return {
    charge_max: charge_max ?? null,
    withdrawal_max: withdrawal_max ?? null,
    night_max: night_max ?? null,
    day_max: day_max ?? null,
  }
}
