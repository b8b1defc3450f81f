'use client'

import { useTranslations } from 'next-intl'
import { Select } from '#components/ui/field.tsx'

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400
const CHOICES_S = [
  ...[15, 30].map(count => count * MINUTE_S),
  ...[1, 2, 6, 12].map(count => count * HOUR_S),
  ...[1, 2, 3, 7, 15, 30].map(count => count * DAY_S),
]

/** Offers the usual times, and the stored one whatever it is. */
export function ExpirySelect({ storedS }: { storedS: number }) {
  const t = useTranslations('settings')
  const choices = [...new Set([...CHOICES_S, storedS])].sort((one, other) => one - other)
  const textOf = (seconds: number) => {
    if (seconds % DAY_S === 0) return t('span.days', { count: seconds / DAY_S })
    if (seconds % HOUR_S === 0) return t('span.hours', { count: seconds / HOUR_S })
    if (seconds % MINUTE_S === 0) return t('span.minutes', { count: seconds / MINUTE_S })
    return t('span.seconds', { count: seconds })
  }
  return (
    <Select
      label={t('account.expiresIn')}
      name="expires_in"
      defaultValue={storedS}
      hint={t('account.expiresInHint')}
    >
      {choices.map(seconds => (
        <option key={seconds} value={seconds}>
          {textOf(seconds)}
        </option>
      ))}
    </Select>
  )
}
