'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { EXPIRIES, inUnits, UNITS, type Unit } from '#app/[mode]/charges/new/new-charge.ts'
import { Field, Select } from '#components/ui/field.tsx'

interface ExpiryFieldProps {
  expiresIn: number
  problem: string | null
}

/** How long the charge can be paid: a usual time, the account's own, or any other. */
export function ExpiryField({ expiresIn, problem }: ExpiryFieldProps) {
  const t = useTranslations('newCharge')
  const [isCustom, setCustom] = useState(false)
  const choices = [...new Set([...EXPIRIES, expiresIn])].sort((one, other) => one - other)
  const say = (seconds: number) => {
    const { unit, count } = inUnits(seconds)
    const text = t(`expiry.${unit}`, { count })
    return seconds === expiresIn ? t('expiry.default', { text }) : text
  }
  return (
    <div className="grid gap-3">
      <Select
        label={t('expires_in')}
        name="expires_in"
        defaultValue={expiresIn}
        onChange={event => setCustom(event.currentTarget.value === 'custom')}
        problem={isCustom ? null : problem}
      >
        {choices.map(seconds => (
          <option key={seconds} value={seconds}>
            {say(seconds)}
          </option>
        ))}
        <option value="custom">{t('expiry.custom')}</option>
      </Select>
      {isCustom ? (
        <div className="grid grid-cols-2 gap-3">
          <Field
            label={t('expiryAmount')}
            name="expiry_count"
            inputMode="decimal"
            autoComplete="off"
            defaultValue="2"
            problem={problem}
          />
          <Select label={t('expiryUnit')} name="expiry_unit" defaultValue="hours">
            {(Object.keys(UNITS) as Unit[]).map(unit => (
              <option key={unit} value={unit}>
                {t(`unit.${unit}`)}
              </option>
            ))}
          </Select>
        </div>
      ) : null}
    </div>
  )
}
