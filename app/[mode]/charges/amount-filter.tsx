'use client'

import { ChevronDown, X } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { moneyText } from '#components/format/format.tsx'

const AmountDialog = dynamic(() =>
  import('#app/[mode]/charges/amount-dialog.tsx').then(module => module.AmountDialog),
)

const CHIP_CLASS =
  'inline-flex h-9 items-center gap-1.5 border bg-surface font-medium text-small transition-colors duration-150'
const UNSET_CLASS = 'border-line2 text-muted hover:text-ink'
const SET_CLASS = 'border-accent bg-accent-soft text-accent'

interface AmountFilterProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

/** Filters by minimum and maximum amount. The URL contains them in cents. */
export function AmountFilter({ get, set }: AmountFilterProps) {
  const t = useTranslations()
  const [isOpen, setOpen] = useState(false)
  const text = useRangeText(get('min_amount'), get('max_amount'))
  const stateClass = text === null ? UNSET_CLASS : SET_CLASS
  return (
    <span className="inline-flex">
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
        className={`${CHIP_CLASS} ${stateClass} px-3.5 ${text === null ? 'rounded-chip' : 'rounded-l-chip border-r-0 pr-2'}`}
      >
        {t('charges.amount')}: {text ?? t('charges.amountAny')}
        {text === null ? <ChevronDown size={14} aria-hidden /> : null}
      </button>
      {text === null ? null : (
        <button
          type="button"
          onClick={() => set({ min_amount: null, max_amount: null })}
          aria-label={`${t('ui.clear')}: ${t('charges.amount')}`}
          className={`${CHIP_CLASS} ${stateClass} rounded-r-chip border-l-0 pr-3 pl-1`}
        >
          <X size={15} aria-hidden />
        </button>
      )}
      {isOpen ? (
        <AmountDialog
          from={parseCents(get('min_amount'))}
          to={parseCents(get('max_amount'))}
          onClose={() => setOpen(false)}
          onChoose={(from, to) => {
            setOpen(false)
            set({ min_amount: from, max_amount: to })
          }}
        />
      ) : null}
    </span>
  )
}

/** Parses an amount in cents; null if absent or invalid, which the server ignores too. */
function parseCents(text: string): number | null {
  return /^\d{1,12}$/.test(text) ? Number(text) : null
}

function useRangeText(fromParam: string, toParam: string): string | null {
  const t = useTranslations('charges')
  const locale = useLocale()
  const [from, to] = [fromParam, toParam].map(text => {
    const amount = parseCents(text)
    return amount === null ? null : moneyText(amount, locale)
  })
  if (from && to) return t('between', { from, to })
  return from ? t('atLeast', { from }) : to ? t('atMost', { to }) : null
}
