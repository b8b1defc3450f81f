import * as z from 'zod'
import { listQuery, openApiMeta, text, wholeCents } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import { AMOUNT_MAX } from '#lib/base/money.ts'
import { REFUND_STATUSES } from '#lib/rooms/charges/refunds/states.ts'

export type { RefundRow } from '#lib/rooms/charges/refunds/wire.ts'

const RefundRequest = z
  .object({
    amount: wholeCents(1, AMOUNT_MAX)
      .optional()
      .meta(
        openApiMeta('Amount to refund, in cents. Default: all that can still be refunded.', 500),
      ),
    reason: text(1, 255)
      .optional()
      .meta(openApiMeta('Reason, for your own records.', 'One of two items was out of stock')),
  })
  .meta({ id: 'RefundRequest', examples: [{ amount: 500 }] })
export type RefundRequest = z.infer<typeof RefundRequest>

export const refundRequest: Record<Mode, z.ZodType<RefundRequest>> = {
  test: RefundRequest,
  live: RefundRequest,
}

/** Filters for refunds, which have no merchant reference and no searchable text. */
export const refundsQuery = listQuery(REFUND_STATUSES).omit({ external_id: true, q: true })
