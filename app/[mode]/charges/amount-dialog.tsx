'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { formatReais, parseReais } from '#lib/core/money.ts'

/** Asks for a minimum and a maximum amount. */
export function AmountDialog({ onClose, ...form }: AmountRangeFormProps & { onClose: () => void }) {
  const t = useTranslations('charges')
  return (
    <Dialog onClose={onClose} title={t('amount')}>
      <AmountRangeForm {...form} />
    </Dialog>
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
    const texts = ['min_amount', 'max_amount'].map(name => String(data.get(name)).trim())
    const [min = null, max = null] = texts.map(text => (text ? parseReais(text, locale) : null))
    const isInvalid = texts.map((text, index) => text !== '' && [min, max][index] === null)
    const isReversed = min !== null && max !== null && max < min
    const newProblems: Record<string, string> = {}
    if (isInvalid[0]) newProblems.min_amount = t('charges.amountInvalid')
    if (isInvalid[1]) newProblems.max_amount = t('charges.amountInvalid')
    if (isReversed) newProblems.max_amount = t('charges.amountOrder')
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
          name="min_amount"
          defaultValue={amountText(from)}
          problem={problems.min_amount}
        />
        <MoneyField
          label={t('charges.amountTo')}
          name="max_amount"
          defaultValue={amountText(to)}
          problem={problems.max_amount}
        />
      </div>
      <p className="-mt-2 text-muted text-small">{t('charges.amountHint')}</p>
      <Button variant="primary" type="submit">
        {t('ui.apply')}
      </Button>
    </form>
  )
}
