'use client'

import { TriangleAlert } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useRef, useState } from 'react'
import {
  ItemsField,
  MetadataField,
  MoreOptions,
  PayerFields,
} from '#app/[mode]/charges/new/more-options.tsx'
import { readChargeForm } from '#app/[mode]/charges/new/new-charge.ts'
import { ApiError } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Review, ReviewRow, refusedFieldOf, useReview } from '#components/form/review.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { CHARGE_AMOUNT_MIN, type ChargeRequest, chargeRequest } from '#lib/charges/schema.ts'
import { DESCRIPTION_LENGTH_MAX, needsReview } from '#lib/charges/states.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'

interface NewChargeFormProps {
  /** Default lifetime of the account's charges, in seconds. */
  expiresIn: number
  /** Amount above which the account asks for a review; null: none. */
  reviewAbove: number | null
}

export function NewChargeForm({ expiresIn, reviewAbove }: NewChargeFormProps) {
  const t = useTranslations()
  const locale = useLocale()
  const { mode } = useApi().scope
  const rowIds = useRef({ items: [] as number[], metadata: [] as number[] })
  const [amountText, setAmountText] = useState('')
  const describing = useRef<HTMLInputElement>(null)
  const readDescription = () => describing.current?.value.trim() ?? ''
  const review = useReview<ChargeRequest>()
  const { create, isCreated } = useCreateCharge({ reviewAbove, review, readDescription })
  const form = useForm({
    schema: chargeRequest[mode],
    read: data => readChargeForm(data, locale, rowIds.current.items, rowIds.current.metadata),
    send: create,
  })
  const isReferenceTaken =
    form.failure instanceof ApiError && form.failure.code === 'external_id_used'
  const isBusy = form.isBusy || isCreated
  const problemFor = (name: string, text: string, missing = t('ui.required')) =>
    form.problems[name] ? (form.problems[name] === 'required' ? missing : text) : null
  return (
    <form
      ref={review.formElement}
      {...form.props}
      aria-label={t('newCharge.title')}
      className="max-w-[720px]"
    >
      <Sheet className="px-4 py-5 md:px-7 md:py-7">
        <div hidden={review.reviewed !== null} className="grid gap-6 [&[hidden]]:hidden">
          <div className="md:max-w-[320px] [&>div>span]:top-[43px]">
            <MoneyField
              label={t('newCharge.amount')}
              name="amount"
              min={CHARGE_AMOUNT_MIN}
              autoFocus
              className="h-14 text-[24px]"
              hint={t('newCharge.amountHint')}
              problem={problemFor(
                'amount',
                t('newCharge.amountWrong'),
                t('newCharge.amountMissing'),
              )}
              onInput={event => setAmountText(event.currentTarget.value)}
            />
          </div>
          <PayerFields problemFor={problemFor} />
          <Field
            ref={describing}
            label={t('newCharge.description')}
            name="description"
            note={t('ui.optional')}
            autoComplete="off"
            maxLength={DESCRIPTION_LENGTH_MAX}
            hint={t('newCharge.descriptionHint')}
          />
          <MoreOptions
            expiresIn={expiresIn}
            problemFor={problemFor}
            isReferenceTaken={isReferenceTaken}
            problems={form.problems}
          >
            <ItemsField
              amountText={amountText}
              onRowsChange={ids => {
                rowIds.current.items = ids
                form.props.onInput()
              }}
              problem={form.problems.items ? t('newCharge.itemsWrong') : null}
            />
            <MetadataField
              onRowsChange={ids => {
                rowIds.current.metadata = ids
                form.props.onInput()
              }}
              problem={form.problems.metadata ? t('newCharge.metadataWrong') : null}
            />
          </MoreOptions>
          {isReferenceTaken || review.reviewed ? null : <Problem error={form.failure} />}
          <div>
            <Button
              variant="primary"
              type="submit"
              aria-disabled={isBusy}
              className="min-h-11 px-6 max-md:w-full"
            >
              {isBusy ? t('newCharge.busy') : t('newCharge.submit')}
            </Button>
          </div>
        </div>
        {review.reviewed ? (
          <ChargeReview
            body={review.reviewed}
            description={readDescription()}
            isBusy={isBusy}
            onBack={() => review.returnToField('amount')}
            problem={<Problem error={form.failure} />}
          />
        ) : null}
        <p role="status" className="sr-only">
          {review.reviewed ? t('newCharge.reviewing') : ''}
        </p>
      </Sheet>
    </form>
  )
}

interface ChargeReviewProps {
  body: ChargeRequest
  description: string
  isBusy: boolean
  onBack: () => void
  problem: ReactNode
}

function ChargeReview({ body, description, ...rest }: ChargeReviewProps) {
  const t = useTranslations('newCharge')
  return (
    <Review
      {...rest}
      amountLabel={t('amount')}
      amount={body.amount}
      warning={t('reviewText')}
      icon={TriangleAlert}
      confirm={rest.isBusy ? t('busy') : t('confirm')}
    >
      <ReviewRow name={t('payer')}>
        <span className="block break-words font-semibold text-[19px] leading-snug">
          {body.client_name}
        </span>
        <span className="block text-muted text-small">{formatTaxId(body.client_doc)}</span>
        <span className="block break-all text-muted text-small">{body.client_email}</span>
      </ReviewRow>
      {description ? (
        <ReviewRow name={t('description')}>
          <span className="break-words">{description}</span>
        </ReviewRow>
      ) : null}
      {body.external_id ? (
        <ReviewRow name={t('external_id')}>
          <span className="break-all font-mono text-[14px]">{body.external_id}</span>
        </ReviewRow>
      ) : null}
    </Review>
  )
}

interface Options {
  /** Amount above which the member reviews the charge; null: none. */
  reviewAbove: number | null
  review: ReturnType<typeof useReview<ChargeRequest>>
  readDescription: () => string
}

/** Returns a function that creates a charge, after a review if it needs one, and opens its page. */
function useCreateCharge({ reviewAbove, review: state, readDescription }: Options) {
  const api = useApi()
  const router = useRouter()
  const [isCreated, setCreated] = useState(false)
  const { reviewed, review, returnToField } = state

  async function create(body: ChargeRequest, idempotencyKey: string) {
    if (!reviewed && needsReview(body.amount, reviewAbove)) return review(body)
    try {
      const { data } = await api.post('/transactions', {
        body,
        idempotencyKey,
        ...(reviewed ? { reviewedAmount: reviewed.amount } : {}),
      })
      setCreated(true)
      const unsaved = await describe(data.transaction_id)
      router.push(`/${api.scope.mode}/charges/${data.transaction_id}${unsaved}`)
    } catch (error) {
      // The threshold was lowered after this page was opened.
      if (error instanceof ApiError && error.code === 'review_required') return review(body)
      const field = refusedFieldOf(error)
      if (reviewed && field) returnToField(field)
      throw error
    }
  }

  /** Returns the query by which the charge's page asks for a text that could not be saved. */
  async function describe(id: string): Promise<string> {
    const description = readDescription()
    if (!description) return ''
    const request = { params: { id }, body: { description } }
    return api.post('/dashboard/charges/[id]/description', request).then(
      () => '',
      () => `?${new URLSearchParams({ description })}`,
    )
  }
  return { create, isCreated }
}
