'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Field, Select } from '#components/ui/field.tsx'

const LIVES = ['never', '30', '90', '365', 'date'] as const

/** How long a token works: some usual spans, or a last day. */
export function ExpiryFields({ isWrong }: { isWrong: boolean }) {
  const t = useTranslations('tokens')
  const [life, setLife] = useState<string>('never')
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Select
        label={t('new.expiry')}
        name="expires_in_days"
        value={life}
        onChange={event => setLife(event.currentTarget.value)}
        hint={life === 'never' ? undefined : t('new.expiryHint')}
      >
        {LIVES.map(value => (
          <option key={value} value={value}>
            {t(`new.life.${value}`)}
          </option>
        ))}
      </Select>
      {life === 'date' ? (
        <Field
          label={t('new.expiresOn')}
          name="expires_on"
          type="date"
          hint={t('new.expiresOnHint')}
          problem={isWrong ? t('new.expiresOnInvalid') : null}
        />
      ) : null}
    </div>
  )
}
