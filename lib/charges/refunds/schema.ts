import * as z from 'zod'
import { REFUND_STATUSES } from '#lib/charges/states.ts'
import { listQuery, must, openApiMeta, text } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'

export type { RefundRow } from '#lib/charges/refunds/wire.ts'

const AMOUNT_RULE = `be a whole number of cents from 1 to ${AMOUNT_MAX}, or "all"`
const AMOUNT_DESCRIPTION =
  'Amount to refund, in cents. With `all`, or without this field, all that can still be refunded. Null, the empty string and unknown fields are refused.'

const wholeAmount = z
  .int(must(AMOUNT_RULE))
  .min(1, must(AMOUNT_RULE))
  .max(AMOUNT_MAX, must(AMOUNT_RULE))

/** Strict: of a misspelled or lost amount, all would be refunded. */
const RefundRequest = z
  .strictObject({
    amount: z
      .union([wholeAmount, z.literal('all')], must(AMOUNT_RULE))
      .transform(amount => (amount === 'all' ? undefined : amount))
      .optional()
      .meta(openApiMeta(AMOUNT_DESCRIPTION, 500)),
    reason: text(1, 255)
      .optional()
      .meta(openApiMeta('Reason, for your own records.', 'One of two items was out of stock')),
  })
  .meta({ id: 'RefundRequest', examples: [{ amount: 500 }] })
export type RefundRequest = z.infer<typeof RefundRequest>

export const refundRequest: Record<
  Mode,
  z.ZodType<RefundRequest, z.input<typeof RefundRequest>>
> = {
  test: RefundRequest,
  live: RefundRequest,
}

/** Filters for refunds, which have no merchant reference and no searchable text. */
export const refundsQuery = listQuery(REFUND_STATUSES).omit({ external_id: true, q: true })

const RefundDecision = z
  .strictObject({
    outcome: z
      .enum(['completed', 'rejected'], must('be completed or rejected'))
      .meta(openApiMeta('Decision of the bank.', 'rejected')),
    reason: text(1, 255)
      .optional()
      .meta(openApiMeta('Reason for a rejection.', 'The receiving account is closed')),
  })
  .meta({ id: 'RefundOutcome' })
export type RefundDecision = z.infer<typeof RefundDecision>
export const refundDecision = { test: RefundDecision, live: RefundDecision }
