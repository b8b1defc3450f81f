'use client'

import { ChevronDown } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import type { Form } from '#components/form/form.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { ApiError } from '#lib/core/call-api.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'
import {
  inferPixKeyType,
  normalizePixKey,
  PIX_KEY_TYPES,
  type PixKeyType,
} from '#lib/core/pix/pix-key.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import { readPixKey, WITHDRAWAL_AMOUNT_MIN } from '#lib/withdrawals/schema.ts'

interface RequestFieldsProps {
  mode: Mode
  form: Form
  available: number
  amount: number | null
  isTypeMissing: boolean
}

export function RequestFields(props: RequestFieldsProps) {
  const t = useTranslations()
  const { mode, form } = props
  const isReferenceTaken = errorCodeOf(form.failure) === 'external_id_used'
  return (
    <>
      <AmountField {...props} />
      <KeyFields mode={mode} problems={form.problems} isTypeMissing={props.isTypeMissing} />
      <details className="group" open={isReferenceTaken || undefined}>
        <summary className="flex min-h-8 w-fit list-none items-center gap-1.5 font-semibold text-accent text-small [&::-webkit-details-marker]:hidden">
          <ChevronDown
            size={16}
            aria-hidden
            className="transition-transform duration-150 group-open:rotate-180"
          />
          {t('withdrawalRequest.more')}
        </summary>
        <div className="mt-4 grid gap-5">
          <Field
            name="owner_doc"
            label={t('withdrawals.owner')}
            note={t('ui.optional')}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            hint={t('withdrawalRequest.ownerHint')}
            problem={form.problems.owner_doc ? t('withdrawalRequest.ownerInvalid') : null}
            onBlur={event => {
              event.currentTarget.value = formatTaxId(event.currentTarget.value)
            }}
          />
          <Field
            name="external_id"
            label={t('withdrawals.reference')}
            note={t('ui.optional')}
            autoComplete="off"
            maxLength={255}
            hint={t('withdrawalRequest.referenceHint')}
            problem={
              isReferenceTaken
                ? t('problem.external_id_used')
                : form.problems.external_id
                  ? t('withdrawalRequest.referenceInvalid')
                  : null
            }
          />
          <Field
            name="webhook_url"
            type="url"
            label={t('withdrawalRequest.webhook')}
            note={t('ui.optional')}
            autoComplete="off"
            hint={t('withdrawalRequest.webhookHint')}
            problem={
              form.problems.webhook_url ? t(`withdrawalRequest.webhookInvalid.${mode}`) : null
            }
          />
        </div>
      </details>
      <div>
        <Button variant="primary" type="submit" className="max-md:w-full" disabled={form.isBusy}>
          {t('withdrawals.new')}
        </Button>
      </div>
    </>
  )
}

function AmountField({ form, available, amount }: RequestFieldsProps) {
  const t = useTranslations()
  const locale = useLocale()
  const wrapper = useRef<HTMLDivElement>(null)
  function fillAvailable() {
    const input = wrapper.current?.querySelector('input')
    if (!input) return
    input.value = formatReais(available, locale)
    input.dispatchEvent(new Event('input', { bubbles: true }))
    input.focus()
  }
  const problem = form.problems.amount
  const isBalanceTooLow = errorCodeOf(form.failure) === 'insufficient_balance'
  const typed = wrapper.current?.querySelector('input')?.value ?? ''
  const problemText = isBalanceTooLow
    ? t('withdrawalRequest.insufficient', { amount: moneyText(available, locale) })
    : problem === 'required'
      ? t('ui.required')
      : problem && parseReais(typed, locale) === null
        ? t('withdrawalRequest.amountInvalid')
        : problem
          ? t('withdrawalRequest.amountMin', { amount: moneyText(WITHDRAWAL_AMOUNT_MIN, locale) })
          : null
  return (
    <div ref={wrapper} className="relative">
      <MoneyField
        name="amount"
        label={t('withdrawals.amount')}
        required
        problem={problemText}
        className="pr-28 text-[20px]!"
      />
      <button
        type="button"
        onClick={fillAvailable}
        disabled={available < WITHDRAWAL_AMOUNT_MIN || amount === available}
        className="absolute top-[33px] right-1.5 h-8 rounded-[7px] bg-accent-soft px-3 font-semibold text-accent text-small disabled:hidden"
      >
        {t('withdrawalRequest.all')}
      </button>
    </div>
  )
}

function errorCodeOf(error: unknown): string | null {
  return error instanceof ApiError ? error.code : null
}

interface KeyFieldsProps {
  mode: Mode
  problems: Form['problems']
  isTypeMissing: boolean
}

/** Fields of the PIX key and its type. The type is inferred while typing and can be changed. */
function KeyFields({ mode, problems, isTypeMissing }: KeyFieldsProps) {
  const t = useTranslations()
  const [key, setKey] = useState('')
  const [chosen, setChosen] = useState<PixKeyType | ''>('')
  const isAmbiguous = isAmbiguousKey(key)
  const parsed = isAmbiguous ? null : readPixKey(mode, { pix_key: key })
  const inferredType = parsed?.ok ? parsed.type : ''
  const type = chosen || inferredType
  const problem = isTypeMissing
    ? t('withdrawalRequest.typeMissing')
    : problems.pix_key_type
      ? t('withdrawalRequest.typeMissing')
      : null
  return (
    <div className="grid gap-5 sm:grid-cols-[minmax(0,1fr)_256px] sm:gap-4">
      <Field
        name="pix_key"
        label={t('withdrawals.key')}
        required
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={77}
        onInput={event => {
          setKey(event.currentTarget.value)
          if (event.currentTarget.value.trim() === '') setChosen('')
        }}
        hint={t(`withdrawalRequest.keyHint.${mode}`)}
        problem={useKeyProblem(mode, problems.pix_key, key, type)}
      />
      <Select
        name="pix_key_type"
        label={t('withdrawalRequest.type')}
        value={type}
        onChange={event => setChosen(event.currentTarget.value as PixKeyType | '')}
        hint={
          isAmbiguous && !chosen
            ? t('withdrawalRequest.ambiguous')
            : chosen
              ? t('withdrawalRequest.typeChosen')
              : inferredType
                ? t('withdrawalRequest.typeTold')
                : null
        }
        problem={problem}
      >
        <option value="">
          {isAmbiguous ? t('withdrawalRequest.typeChoose') : t('withdrawalRequest.typeAuto')}
        </option>
        {PIX_KEY_TYPES.map(value => (
          <option key={value} value={value}>
            {t(`pixKey.${value}`)}
          </option>
        ))}
      </Select>
    </div>
  )
}

function useKeyProblem(
  mode: Mode,
  problem: Form['problems'][string] | undefined,
  key: string,
  type: PixKeyType | '',
): string | null {
  const t = useTranslations()
  if (!problem) return null
  if (problem === 'required') return t('ui.required')
  if (!type) return t('withdrawalRequest.keyUnknown')
  const normalized = normalizePixKey(type, key, mode === 'live' ? 'dict' : 'form')
  if (normalized.ok || normalized.reason === 'form') return t(`withdrawalRequest.form.${type}`)
  return t(`withdrawalRequest.keyProblem.${normalized.reason}`)
}

/** Whether 11 digits are both a valid CPF and a mobile number: a wrong guess pays a stranger. */
export function isAmbiguousKey(key: string): boolean {
  const inferred = inferPixKeyType(key, 'dict')
  return !inferred.ok && inferred.reason === 'ambiguous'
}
