'use client'

import { useLocale } from 'next-intl'
import type { ComponentProps } from 'react'
import { Field } from '#components/ui/field.tsx'
import { formatReais, parseReais } from '#lib/base/money.ts'

type MoneyFieldProps = Omit<ComponentProps<typeof Field>, 'type' | 'inputMode'>

/** Input of an amount in reais. Accepts any notation and normalizes the text on blur. */
export function MoneyField({ onBlur, className = '', ...rest }: MoneyFieldProps) {
  const locale = useLocale()
  return (
    <div className="relative">
      <Field
        placeholder={formatReais(0, locale)}
        {...rest}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        className={`pl-10 font-semibold ${className}`}
        onBlur={event => {
          const amount = parseReais(event.currentTarget.value)
          if (amount !== null) event.currentTarget.value = formatReais(amount, locale)
          onBlur?.(event)
        }}
      />
      <span aria-hidden className="absolute top-[38px] left-3 text-muted">
        R$
      </span>
    </div>
  )
}
