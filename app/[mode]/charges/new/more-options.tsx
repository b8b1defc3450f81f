'use client'

import { ChevronDown, Plus, X } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import {
  type ComponentProps,
  type MouseEvent,
  type ReactNode,
  type SyntheticEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react'
import {
  EXPIRY_CHOICES,
  listRowIds,
  ROW_LISTS,
  type RowList,
  rowFieldName,
  sumItems,
  toLargestUnit,
  UNIT_SECONDS,
  type Unit,
} from '#app/[mode]/charges/new/new-charge.ts'
import { useApi } from '#components/api/use-api.ts'
import { DRAFT_EVENT, type DraftField } from '#components/form/form.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { useMoneyInput } from '#components/ui/money-field.tsx'
import { parseReais } from '#lib/core/money.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'

const OPTIONAL_FIELDS = ['external_id', 'expires_in', 'webhook_url', 'items', 'metadata']

interface MoreOptionsProps {
  expiresIn: number
  problemFor: ProblemFor
  isReferenceTaken: boolean
  problems: Record<string, unknown>
  children: ReactNode
}

export function MoreOptions({
  expiresIn,
  problemFor,
  isReferenceTaken,
  problems,
  children,
}: MoreOptionsProps) {
  const t = useTranslations()
  const { mode } = useApi().scope
  const details = useRef<HTMLDetailsElement>(null)
  const firstInvalid = isReferenceTaken
    ? 'external_id'
    : OPTIONAL_FIELDS.find(name => problems[name])
  useEffect(() => {
    if (!firstInvalid || !details.current) return
    const isHidden = !details.current.open
    details.current.open = true
    const input = details.current.querySelector<HTMLElement>(`[name="${firstInvalid}"]`)
    if (isHidden || isReferenceTaken) input?.focus()
  }, [firstInvalid, isReferenceTaken])
  // Otherwise the user would not see that the draft changes something in this section.
  useDraftedFields(fields => {
    const section = details.current
    if (!section) return
    const isChanged = fields.some(([name, value]) => {
      const input = section.querySelector<HTMLInputElement>(`[name="${name}"]`)
      return input ? input.value !== value : ROW_LISTS.some(list => name.startsWith(`${list}.`))
    })
    if (isChanged) section.open = true
  })
  return (
    <details ref={details} className="group rounded-control border border-line">
      <summary className="flex min-h-12 list-none items-center gap-3 rounded-control px-4 py-2.5 hover:bg-sunk [&::-webkit-details-marker]:hidden">
        <span className="min-w-0 flex-1">
          <span className="font-semibold">{t('newCharge.more')}</span>
          <span className="block text-muted text-small group-open:hidden">
            {t('newCharge.moreText')}
          </span>
        </span>
        <ChevronDown
          size={18}
          aria-hidden
          className="shrink-0 text-muted transition-transform duration-150 group-open:rotate-180 motion-reduce:transition-none"
        />
      </summary>
      <div className="grid gap-5 border-line border-t px-4 py-5">
        <div className="grid items-start gap-4 md:grid-cols-2">
          <Field
            label={t('newCharge.external_id')}
            name="external_id"
            note={t('ui.optional')}
            autoComplete="off"
            spellCheck={false}
            hint={t('newCharge.referenceHint')}
            problem={
              isReferenceTaken
                ? t('newCharge.referenceTaken')
                : problemFor('external_id', t('newCharge.referenceWrong'))
            }
          />
          <ExpiryField
            expiresIn={expiresIn}
            problem={problemFor('expires_in', t('newCharge.expiryWrong'))}
          />
        </div>
        <Field
          label={t('newCharge.webhook_url')}
          name="webhook_url"
          note={t('ui.optional')}
          type="url"
          autoComplete="off"
          hint={t('newCharge.webhookHint')}
          problem={problemFor('webhook_url', t(`newCharge.webhookWrong.${mode}`))}
        />
        {children}
      </div>
    </details>
  )
}

interface ExpiryFieldProps {
  expiresIn: number
  problem: string | null
}

function ExpiryField({ expiresIn, problem }: ExpiryFieldProps) {
  const t = useTranslations('newCharge')
  const [isCustom, setCustom] = useState(false)
  const choices = [...new Set([...EXPIRY_CHOICES, expiresIn])].sort((one, other) => one - other)
  const expiryText = (seconds: number) => {
    const { unit, count } = toLargestUnit(seconds)
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
            {expiryText(seconds)}
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
            {(Object.keys(UNIT_SECONDS) as Unit[]).map(unit => (
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

/** `missing`: for an empty field, unless the general text says enough. */
type ProblemFor = (name: string, text: string, missing?: string) => string | null

export function PayerFields({ problemFor }: { problemFor: ProblemFor }) {
  const t = useTranslations()
  const { mode } = useApi().scope
  return (
    <fieldset className="grid gap-4 md:grid-cols-2">
      <legend className="mb-3 font-display font-semibold text-title">{t('newCharge.payer')}</legend>
      <Field
        label={t('newCharge.client_name')}
        name="client_name"
        autoComplete="off"
        problem={problemFor('client_name', t('newCharge.nameWrong'), t('newCharge.nameMissing'))}
      />
      <Field
        label={t('newCharge.client_email')}
        name="client_email"
        type="email"
        autoComplete="off"
        hint={mode === 'test' ? t('newCharge.emailHint') : null}
        problem={problemFor('client_email', t('newCharge.emailWrong'))}
      />
      <Field
        label={t('newCharge.client_doc')}
        name="client_doc"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        problem={problemFor('client_doc', t(`newCharge.docWrong.${mode}`))}
        onBlur={event => {
          event.currentTarget.value = formatTaxId(event.currentTarget.value)
        }}
      />
      <Field
        label={t('newCharge.client_phone')}
        name="client_phone"
        note={t('ui.optional')}
        type="tel"
        autoComplete="off"
        problem={problemFor('client_phone', t('newCharge.phoneWrong'))}
      />
    </fieldset>
  )
}

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
        <div className="col-span-full font-medium text-small text-wait">{price.question}</div>
      ) : null}
    </div>
  )
}

interface MetadataFieldProps {
  onRowsChange: (ids: number[]) => void
  problem: string | null
}

export function MetadataField({ onRowsChange, problem }: MetadataFieldProps) {
  const t = useTranslations('newCharge')
  const { ids, addedId, add, remove } = useRows('metadata', onRowsChange)
  return (
    <fieldset name="metadata" tabIndex={-1} className="grid gap-2.5">
      <legend className="mb-1.5 font-semibold text-small">{t('metadata')}</legend>
      {ids.map((id, index) => {
        const number = index + 1
        return (
          <div key={id} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)_auto] gap-2">
            <RowInput
              autoFocus={id === addedId}
              name={rowFieldName('metadata', id, 'key')}
              label={t('metadataKey', { number })}
              placeholder={t('keyPlaceholder')}
            />
            <RowInput
              name={rowFieldName('metadata', id, 'value')}
              label={t('metadataValue', { number })}
              placeholder={t('valuePlaceholder')}
            />
            <RemoveRow label={t('metadataRemove', { number })} onClick={() => remove(id)} />
          </div>
        )
      })}
      <AddRow label={t('metadataAdd')} onClick={add} />
      {problem ? <p className="font-medium text-bad text-small">{problem}</p> : null}
    </fieldset>
  )
}

interface RowInputProps extends ComponentProps<'input'> {
  /** Accessible name: the row and the field. Rows have no space for visible labels. */
  label: string
}

function RowInput({ label, className = '', ...rest }: RowInputProps) {
  return (
    <input
      aria-label={label}
      autoComplete="off"
      {...rest}
      className={`h-11 min-w-0 rounded-control border border-line2 bg-surface px-3 text-[16px] text-ink transition-colors duration-150 hover:border-faint focus-visible:border-accent ${className}`}
    />
  )
}

interface RemoveRowProps {
  label: string
  onClick: (event: MouseEvent<HTMLButtonElement>) => void
}

function RemoveRow({ label, onClick }: RemoveRowProps) {
  return (
    <Button variant="plain" aria-label={label} onClick={onClick} className="justify-center">
      <X size={16} aria-hidden />
    </Button>
  )
}

function AddRow({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="quiet" onClick={onClick} className="justify-self-start">
      <Plus size={16} aria-hidden />
      {label}
    </Button>
  )
}

/** Calls back with the fields of a draft, before their values are put back. */
function useDraftedFields(onDraft: (fields: DraftField[]) => void): void {
  const onEvent = useEffectEvent((event: Event) =>
    onDraft((event as CustomEvent<DraftField[]>).detail),
  )
  useEffect(() => {
    addEventListener(DRAFT_EVENT, onEvent)
    return () => removeEventListener(DRAFT_EVENT, onEvent)
  }, [])
}

/** Manages rows of a form. Stable ids preserve the typed values when another row is removed. */
function useRows(list: RowList, onRowsChange: (ids: number[]) => void) {
  const [ids, setIds] = useState<number[]>([])
  /** Gets the focus when it appears; rows of a draft do not. */
  const [addedId, setAddedId] = useState<number | null>(null)
  const lastId = useRef(0)
  const updateIds = (nextIds: number[]) => {
    setIds(nextIds)
    onRowsChange(nextIds)
  }
  useDraftedFields(fields => {
    const drafted = listRowIds(list, fields)
    if (drafted.length === 0) return
    lastId.current = Math.max(...drafted)
    updateIds(drafted)
  })
  const add = () => {
    lastId.current += 1
    setAddedId(lastId.current)
    updateIds([...ids, lastId.current])
  }
  const remove = (id: number) => updateIds(ids.filter(otherId => otherId !== id))
  return { ids, addedId, add, remove }
}
