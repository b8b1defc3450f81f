import * as z from 'zod'
import { about, listQuery, text, wholeCents } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import { AMOUNT_MAX } from '#lib/base/money.ts'

/** How long after its payment a charge can be refunded: the rule of Pix for returns. */
export const REFUND_WINDOW_DAYS = 90

/**
 * pending: the amount is held, of the balance and of the charge; the bank may have been asked.
 * completed: the payer has it. rejected: the payer never will, and the merchant has it again. The
 * last two are final.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected'] as const
export type RefundStatus = (typeof REFUND_STATUSES)[number]

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

/** A row as the queries of this room select it. */
export interface RefundRow {
  id: string
  /** The charge, by its name on the wire: an event keeps the row as it is told. */
  transaction_id: string
  amount: number
  status: RefundStatus
  reason: string | null
  created_at: string
  mode: Mode
  rejection_reason: string | null
  return_id: string | null
  completed_at: string | null
  rejected_at: string | null
  updated_at: string
}
