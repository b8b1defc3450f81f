'use client'

import { useQuery } from '@tanstack/react-query'
import { CircleAlert, TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useState } from 'react'
import { isAmbiguousKey, RequestFields } from '#app/[mode]/withdrawals/new/request-fields.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { Review, ReviewRow, refusedFieldOf, useReview } from '#components/form/review.tsx'
import { HeroMoney, Money } from '#components/format/format.tsx'
import { Notice, Sheet } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { parseReais } from '#lib/core/money.ts'
import { formatPixKey } from '#lib/core/pix/pix-key.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import { readPixKey, type WithdrawalRequest, withdrawalRequest } from '#lib/withdrawals/schema.ts'

interface RequestFormProps {
  mode: Mode
  available: number
}

export function RequestForm({ mode, available }: RequestFormProps) {
  const t = useTranslations('withdrawalRequest')
  const locale = useLocale()
  const api = useApi()
  const router = useRouter()
  const { formElement, reviewed, review, returnToField, focusField } =
    useReview<WithdrawalRequest>()
  const [amount, setAmount] = useState<number | null>(null)
  const [isTypeMissing, setTypeMissing] = useState(false)
  const [isSent, setSent] = useState(false)
  const balance = useQuery({
    queryKey: ['account', api.scope],
    queryFn: ({ signal }) => api.get<{ balance: number }>('/account', signal),
    initialData: { balance: available },
  })

  async function send(body: WithdrawalRequest, idempotencyKey: string) {
    if (!reviewed) return reviewUnlessAmbiguous(body)
    try {
      type CreateResponse = { data: { id: string } }
      const { data } = await api.send<CreateResponse>('POST', '/withdrawals', {
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

  function reviewUnlessAmbiguous(body: WithdrawalRequest) {
    const isAmbiguous = !body.pix_key_type && isAmbiguousKey(body.pix_key)
    setTypeMissing(isAmbiguous)
    if (isAmbiguous) return focusField('pix_key_type')
    review(body)
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
