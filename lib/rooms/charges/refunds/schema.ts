import * as z from 'zod'
import { about, listQuery, text, wholeCents } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import { AMOUNT_MAX } from '#lib/base/money.ts'
import { REFUND_STATUSES } from '#lib/rooms/charges/refunds/states.ts'

export type { RefundRow } from '#lib/rooms/charges/refunds/wire.ts'

/** How long after its payment a charge can be refunded: the rule of Pix for returns. */
export const REFUND_WINDOW_DAYS = 90

const RefundRequest = z
  .object({
    amount: wholeCents(1, AMOUNT_MAX)
      .optional()
      .meta(
        about('What is given back, in cents. Without it: all that is left of the charge.', 500),
      ),
    reason: text(1, 255)
      .optional()
      .meta(about('Why, for your own records.', 'One of two items was out of stock')),
  })
  .meta({ id: 'RefundRequest', examples: [{ amount: 500 }] })
export type RefundRequest = z.infer<typeof RefundRequest>

export const refundRequest: Record<Mode, z.ZodType<RefundRequest>> = {
  test: RefundRequest,
  live: RefundRequest,
}

/** A refund has no reference of the merchant's own, and no text that a search would find. */
export const refundsQuery = listQuery(REFUND_STATUSES).omit({ external_id: true, q: true })
