'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { ItemsField } from '#app/[mode]/charges/new/items-field.tsx'
import { MetadataField } from '#app/[mode]/charges/new/metadata-field.tsx'
import { MoreOptions } from '#app/[mode]/charges/new/more-options.tsx'
import { readCharge } from '#app/[mode]/charges/new/new-charge.ts'
import { PayerFields } from '#app/[mode]/charges/new/payer-fields.tsx'
import { ChargeReview } from '#app/[mode]/charges/new/review.tsx'
import { useCreateCharge } from '#app/[mode]/charges/new/use-create-charge.ts'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { useReview } from '#components/form/review.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { type ChargeRequest, chargeRequest } from '#lib/charges/schema.ts'
import { DESCRIPTION_LENGTH_MAX } from '#lib/charges/states.ts'
import { ApiError } from '#lib/core/call-api.ts'

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
    read: data => readCharge(data, locale, rowIds.current.items, rowIds.current.metadata),
    send: create,
  })
  const isReferenceTaken =
    form.failure instanceof ApiError && form.failure.code === 'external_id_used'
  const isBusy = form.isBusy || isCreated
  const problemFor = (name: string, text: string) =>
    form.problems[name] ? (form.problems[name] === 'required' ? t('ui.required') : text) : null
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
              autoFocus
              className="h-14 text-[24px]"
              hint={t('newCharge.amountHint')}
              problem={problemFor('amount', t('newCharge.amountWrong'))}
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
