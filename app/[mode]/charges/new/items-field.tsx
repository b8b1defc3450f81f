'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type SyntheticEvent, useState } from 'react'
import { rowFieldName, sumItems } from '#app/[mode]/charges/new/new-charge.ts'
import { AddRow, RemoveRow, RowInput, useRows } from '#app/[mode]/charges/new/rows.tsx'
import { moneyText } from '#components/format/format.tsx'
import { useMoneyInput } from '#components/ui/money-field.tsx'
import { parseReais } from '#lib/core/money.ts'

interface ItemsFieldProps {
  amountText: string
  onRowsChange: (ids: number[]) => void
  problem: string | null
}

/** Items of the charge. Shows their sum, which may differ from the amount. */
export function ItemsField({ amountText, onRowsChange, problem }: ItemsFieldProps) {
  const t = useTranslations('newCharge')
  const locale = useLocale()
  const [sum, setSum] = useState<number | null>(null)
  const { ids, addedId, add, remove } = useRows('items', onRowsChange)
  const updateSum = (form: HTMLFormElement | null, rowIds: number[]) =>
    setSum(form ? sumItems(new FormData(form), locale, rowIds) : null)
  const onInput = (event: SyntheticEvent<HTMLFieldSetElement>) =>
    updateSum(event.currentTarget.form, ids)
  const amount = parseReais(amountText, locale)
  const sumText = sum === null || ids.length === 0 ? null : moneyText(sum, locale)
  return (
    <fieldset name="items" tabIndex={-1} onInput={onInput} className="grid gap-2.5">
      <legend className="mb-1.5 font-semibold text-small">{t('items')}</legend>
      {ids.map((id, index) => (
        <ItemRow
          key={id}
          id={id}
          number={index + 1}
          isAdded={id === addedId}
          hasProblem={problem !== null}
          onRemove={form => {
            remove(id)
            updateSum(
              form,
              ids.filter(otherId => otherId !== id),
            )
          }}
        />
      ))}
      <AddRow label={t('itemAdd')} onClick={add} />
      {problem ? <p className="font-medium text-bad text-small">{problem}</p> : null}
      <p role="status" className="text-muted text-small empty:hidden">
        {sumText === null
          ? null
          : amount !== null && amount !== sum
            ? t('itemsDiffer', { sum: sumText })
            : t('itemsSum', { sum: sumText })}
      </p>
    </fieldset>
  )
}

interface ItemRowProps {
  id: number
  number: number
  isAdded: boolean
  hasProblem: boolean
  onRemove: (form: HTMLFormElement | null) => void
}

function ItemRow({ id, number, isAdded, hasProblem, onRemove }: ItemRowProps) {
  const t = useTranslations('newCharge')
  const price = useMoneyInput({}, hasProblem)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto] gap-2 md:grid-cols-[minmax(0,1fr)_90px_140px_auto]">
      <RowInput
        autoFocus={isAdded}
        name={rowFieldName('items', id, 'name')}
        label={t('itemName', { number })}
        placeholder={t('namePlaceholder')}
        className="max-md:col-span-3"
      />
      <RowInput
        name={rowFieldName('items', id, 'quantity')}
        label={t('itemQuantity', { number })}
        placeholder={t('quantityPlaceholder')}
        inputMode="decimal"
        defaultValue="1"
      />
      <RowInput
        name={rowFieldName('items', id, 'price')}
        label={t('itemPrice', { number })}
        placeholder={t('pricePlaceholder')}
        {...price.control}
      />
      <RemoveRow
        label={t('itemRemove', { number })}
        onClick={event => onRemove(event.currentTarget.form)}
      />
      <span className="-mt-2 col-span-full justify-self-end text-muted text-small">
        {price.understood}
      </span>
      {price.question ? (
        <div className="col-span-full font-medium text-bad text-small">{price.question}</div>
      ) : null}
    </div>
  )
}
