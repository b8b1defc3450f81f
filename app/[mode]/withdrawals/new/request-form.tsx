'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ChevronDown, CircleAlert, TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { ApiError } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { type Form, useForm } from '#components/form/form.tsx'
import { Review, ReviewRow, refusedFieldOf, useReview } from '#components/form/review.tsx'
import { HeroMoney, Money, moneyText } from '#components/format/format.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { Notice, Sheet } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'
import {
  formatPixKey,
  inferPixKeyType,
  normalizePixKey,
  PIX_KEY_TYPES,
  type PixKeyType,
} from '#lib/core/pix/pix-key.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import {
  MEMO_LENGTH_MAX,
  readPixKey,
  WITHDRAWAL_AMOUNT_MIN,
  type WithdrawalRequest,
  withdrawalRequest,
} from '#lib/withdrawals/schema.ts'

interface RequestFormProps {
  mode: Mode
}

export function RequestForm({ mode }: RequestFormProps) {
  const t = useTranslations('withdrawalRequest')
  const locale = useLocale()
  const api = useApi()
  const router = useRouter()
  const { formElement, reviewed, review, returnToField, focusField } =
    useReview<WithdrawalRequest>()
  const [amount, setAmount] = useState<number | null>(null)
  const [isTypeMissing, setTypeMissing] = useState(false)
  const [isTooMuch, setTooMuch] = useState(false)
  const [isSent, setSent] = useState(false)
  const balance = useSuspenseQuery(accountQueries.balance(api))

  async function send(body: WithdrawalRequest, idempotencyKey: string) {
    if (!reviewed) return reviewIfSendable(body)
    try {
      const { data } = await api.post('/withdrawals', {
        body,
        idempotencyKey,
      })
      setSent(true)
      router.push(`/${mode}/withdrawals/${data.id}`)
    } catch (error) {
      const field = refusedFieldOf(error)
      if (field) returnToField(field)
      if (field === 'amount') await balance.refetch()
      throw error
    }
  }

  async function reviewIfSendable(body: WithdrawalRequest) {
    const isAmbiguous = !body.pix_key_type && isAmbiguousKey(body.pix_key)
    setTypeMissing(isAmbiguous)
    // The balance may have grown since the page was opened.
    const isOver = body.amount > balance.data.balance && (await isAboveBalance(body.amount))
    setTooMuch(isOver)
    if (isOver) return focusField('amount')
    if (isAmbiguous) return focusField('pix_key_type')
    review(body)
  }

  async function isAboveBalance(wanted: number): Promise<boolean> {
    const { data } = await balance.refetch()
    return wanted > (data ?? balance.data).balance
  }

  const form = useForm({
    schema: withdrawalRequest[mode],
    read: data => readFields(data, locale),
    send,
  })
  function onInput(event: FormEvent<HTMLFormElement>) {
    form.props.onInput(event)
    const data = new FormData(event.currentTarget)
    setAmount(parseReais(String(data.get('amount')), locale))
    setTypeMissing(false)
    setTooMuch(false)
  }

  return (
    <form
      ref={formElement}
      {...form.props}
      onInput={onInput}
      className="grid items-start gap-6 xl:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]"
    >
      <Sheet className="grid grid-cols-[minmax(0,1fr)] gap-5 px-4 py-5 max-xl:order-2 md:px-7 md:py-7">
        <div
          hidden={reviewed !== null}
          className="grid grid-cols-[minmax(0,1fr)] gap-5 [&[hidden]]:hidden"
        >
          <RequestFields
            mode={mode}
            form={form}
            available={balance.data.balance}
            amount={amount}
            isTypeMissing={isTypeMissing}
            isTooMuch={isTooMuch}
          />
        </div>
        {reviewed ? (
          <WithdrawalReview
            mode={mode}
            body={reviewed}
            available={balance.data.balance}
            isBusy={form.isBusy || isSent}
            onBack={() => returnToField('amount')}
            problem={refusedFieldOf(form.failure) ? null : <Problem error={form.failure} />}
          />
        ) : null}
        <p role="status" className="sr-only">
          {reviewed ? t('reviewing') : ''}
        </p>
      </Sheet>
      <AvailableBalance balance={balance.data.balance} amount={reviewed?.amount ?? amount} />
    </form>
  )
}

function readFields(data: FormData, locale: string) {
  const text = (name: string) => String(data.get(name) ?? '').trim() || undefined
  const amount = text('amount')
  return {
    amount: amount === undefined ? undefined : (parseReais(amount, locale) ?? Number.NaN),
    pix_key: text('pix_key'),
    pix_key_type: text('pix_key_type'),
    owner_doc: text('owner_doc'),
    external_id: text('external_id'),
    memo: text('memo'),
    webhook_url: text('webhook_url'),
  }
}

interface WithdrawalReviewProps {
  mode: Mode
  body: WithdrawalRequest
  available: number
  isBusy: boolean
  onBack: () => void
  problem: ReactNode
}

function WithdrawalReview({ mode, body, available, ...rest }: WithdrawalReviewProps) {
  const t = useTranslations()
  const parsed = readPixKey(mode, body)
  if (!parsed.ok) return null
  return (
    <Review
      {...rest}
      amountLabel={t('withdrawals.amount')}
      amount={body.amount}
      warning={t('withdrawalRequest.final')}
      icon={TriangleAlert}
      confirm={rest.isBusy ? t('withdrawalRequest.sending') : t('withdrawalRequest.confirm')}
    >
      <ReviewRow name={t('withdrawalRequest.keyAsRead')}>
        <span className="block break-all font-semibold text-[19px] leading-snug">
          {formatPixKey(parsed.type, parsed.dictKey)}
        </span>
        <span className="text-muted text-small">{t(`pixKey.${parsed.type}`)}</span>
      </ReviewRow>
      {body.owner_doc ? (
        <ReviewRow name={t('withdrawals.owner')}>
          <span className="break-all font-semibold">{formatTaxId(body.owner_doc)}</span>
        </ReviewRow>
      ) : null}
      {body.external_id ? (
        <ReviewRow name={t('withdrawals.reference')}>
          <span className="break-all font-mono text-[14px]">{body.external_id}</span>
        </ReviewRow>
      ) : null}
      {body.memo ? (
        <ReviewRow name={t('withdrawals.memo')}>
          <span className="break-words">{body.memo}</span>
        </ReviewRow>
      ) : null}
      {body.amount <= available ? (
        <ReviewRow name={t('withdrawalRequest.after')}>
          <Money cents={available - body.amount} />
        </ReviewRow>
      ) : null}
    </Review>
  )
}

interface AvailableBalanceProps {
  balance: number
  /** Amount to withdraw; null if the input is invalid. */
  amount: number | null
}

function AvailableBalance({ balance, amount }: AvailableBalanceProps) {
  const t = useTranslations('withdrawalRequest')
  const remaining = balance - (amount ?? 0)
  return (
    <aside
      aria-label={t('available')}
      className="xl:rounded-sheet xl:border xl:border-line xl:bg-surface xl:px-7 xl:py-7 xl:shadow-sheet"
    >
      <p className="text-muted text-small">{t('available')}</p>
      <p className="mt-2 text-[34px] leading-none">
        <HeroMoney cents={balance} testId="balance" />
      </p>
      <div className="mt-3 min-h-[46px] text-small xl:mt-5">
        {remaining < 0 ? (
          <Notice tone="wait" icon={CircleAlert} role="status">
            {t.rich('tooMuch', { amount: () => <Money cents={-remaining} /> })}
          </Notice>
        ) : (
          <p className="text-muted">
            {amount === null || amount === 0
              ? t('nothingYet')
              : t.rich('remains', { amount: () => <Money cents={remaining} /> })}
          </p>
        )}
      </div>
    </aside>
  )
}

interface RequestFieldsProps {
  mode: Mode
  form: Form
  available: number
  amount: number | null
  isTypeMissing: boolean
  /** Whether more than the balance was asked for. */
  isTooMuch: boolean
}

function RequestFields(props: RequestFieldsProps) {
  const t = useTranslations()
  const { mode, form } = props
  const isReferenceTaken = errorCodeOf(form.failure) === 'external_id_used'
  return (
    <>
      <AmountField {...props} />
      <KeyFields mode={mode} problems={form.problems} isTypeMissing={props.isTypeMissing} />
      <Field
        name="memo"
        label={t('withdrawals.memo')}
        note={t('ui.optional')}
        autoComplete="off"
        maxLength={MEMO_LENGTH_MAX}
        hint={t('withdrawalRequest.memoHint')}
        problem={form.problems.memo ? t('withdrawalRequest.memoInvalid') : null}
      />
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
          {t('withdrawalRequest.continue')}
        </Button>
      </div>
    </>
  )
}

function AmountField({ form, available, amount, isTooMuch }: RequestFieldsProps) {
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
  const isBalanceTooLow = isTooMuch || errorCodeOf(form.failure) === 'insufficient_balance'
  const typed = wrapper.current?.querySelector('input')?.value ?? ''
  const problemText = isBalanceTooLow
    ? t('withdrawalRequest.insufficient', { amount: moneyText(available, locale) })
    : problem === 'required'
      ? t('withdrawalRequest.amountMissing', { amount: moneyText(WITHDRAWAL_AMOUNT_MIN, locale) })
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
        min={WITHDRAWAL_AMOUNT_MIN}
        max={available}
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
function isAmbiguousKey(key: string): boolean {
  const inferred = inferPixKeyType(key, 'dict')
  return !inferred.ok && inferred.reason === 'ambiguous'
}
