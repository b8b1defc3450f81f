'use client'

import { ChevronDown, X } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { formatReais, parseReais } from '#lib/base/money.ts'

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
  const text = useRangeText(get('amount_from'), get('amount_to'))
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
          onClick={() => set({ amount_from: null, amount_to: null })}
          aria-label={`${t('ui.clear')}: ${t('charges.amount')}`}
          className={`${CHIP_CLASS} ${stateClass} rounded-r-chip border-l-0 pr-3 pl-1`}
        >
          <X size={15} aria-hidden />
        </button>
      )}
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t('charges.amount')}>
        <AmountRangeForm
          from={parseCents(get('amount_from'))}
          to={parseCents(get('amount_to'))}
          onChoose={(from, to) => {
            setOpen(false)
            set({ amount_from: from, amount_to: to })
          }}
        />
      </Dialog>
    </span>
  )
}

interface AmountRangeFormProps {
  from: number | null
  to: number | null
  onChoose: (from: string | null, to: string | null) => void
}

function AmountRangeForm({ from, to, onChoose }: AmountRangeFormProps) {
  const t = useTranslations()
  const locale = useLocale()
  const [problems, setProblems] = useState<Record<string, string>>({})
  const amountText = (amount: number | null) => (amount === null ? '' : formatReais(amount, locale))
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const texts = ['amount_from', 'amount_to'].map(name => String(data.get(name)).trim())
    const [min = null, max = null] = texts.map(text => (text ? parseReais(text, locale) : null))
    const isInvalid = texts.map((text, index) => text !== '' && [min, max][index] === null)
    const isReversed = min !== null && max !== null && max < min
    const newProblems: Record<string, string> = {}
    if (isInvalid[0]) newProblems.amount_from = t('charges.amountInvalid')
    if (isInvalid[1]) newProblems.amount_to = t('charges.amountInvalid')
    if (isReversed) newProblems.amount_to = t('charges.amountOrder')
    setProblems(newProblems)
    if (Object.keys(newProblems).length === 0)
      onChoose(min?.toString() ?? null, max?.toString() ?? null)
  }
  return (
    <form
      method="post"
      onSubmit={submit}
      onInput={() => setProblems({})}
      noValidate
      className="grid gap-5"
    >
      <div className="grid grid-cols-2 gap-4">
        <MoneyField
          label={t('charges.amountFrom')}
          name="amount_from"
          defaultValue={amountText(from)}
          problem={problems.amount_from}
        />
        <MoneyField
          label={t('charges.amountTo')}
          name="amount_to"
          defaultValue={amountText(to)}
          problem={problems.amount_to}
        />
      </div>
      <p className="-mt-2 text-muted text-small">{t('charges.amountHint')}</p>
      <Button variant="primary" type="submit">
        {t('ui.apply')}
      </Button>
    </form>
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
