import * as z from 'zod'
import { rejectionCodeField } from '#lib/banks/gateway.ts'
import { REFUND_STATUSES } from '#lib/charges/states.ts'
import { instant, modeField, openApiMeta, pageOf, pickFields } from '#lib/core/fields.ts'

const STATUS_DESCRIPTION =
  '`pending`: the amount is held. `completed`: the payer has received it. `rejected`: it has returned to the balance.'
const RETURN_ID_DESCRIPTION = 'Return id of the central bank, 32 characters, or null.'

const RefundStatus = z
  .enum(REFUND_STATUSES)
  .meta({ id: 'RefundStatus', ...openApiMeta(STATUS_DESCRIPTION, 'pending') })

const createdFields = {
  id: z.uuid().meta(openApiMeta('Id of the refund.', '01a1fbbf-20d3-7b1a-9c55-7e3a1d2f4b60')),
  transaction_id: z
    .uuid()
    .meta(openApiMeta('Id of the refunded charge.', '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa')),
  amount: z.int().meta(openApiMeta('Amount, in cents.', 500)),
  status: RefundStatus,
  reason: z
    .string()
    .nullable()
    .meta(openApiMeta('Reason as sent, or null.', 'One of two items was out of stock')),
  created_at: instant.meta(openApiMeta('Time of creation.', '2026-11-21T01:36:09.427318Z')),
}

export const RefundCreated = z
  .object({ data: z.object(createdFields) })
  .meta({ id: 'RefundCreated' })

export const RefundDetail = z
  .object({
    ...createdFields,
    status: RefundStatus.meta({ examples: ['completed'] }),
    mode: modeField,
    rejection_reason: z
      .string()
      .nullable()
      .meta(openApiMeta('Reason that the bank gave, or null.', null)),
    rejection_code: rejectionCodeField,
    return_id: z
      .string()
      .nullable()
      .meta(openApiMeta(RETURN_ID_DESCRIPTION, 'D00000000202611210136f0e1d2c3b4a')),
    completed_at: instant
      .nullable()
      .meta(openApiMeta('Time of completion, or null.', '2026-11-21T01:36:10.611204Z')),
    rejected_at: instant.nullable().meta(openApiMeta('Time of rejection, or null.', null)),
    updated_at: instant.meta(
      openApiMeta('Time of the last change.', '2026-11-21T01:36:10.611204Z'),
    ),
  })
  .meta({ id: 'Refund' })
export type RefundDetail = z.infer<typeof RefundDetail>

export type RefundRow = RefundDetail

export const RefundRead = z.object({ data: RefundDetail }).meta({ id: 'RefundRead' })
export const RefundPage = pageOf(RefundDetail).meta({ id: 'RefundPage' })

export function createdRefundToWire(refund: RefundRow) {
  return pickFields(createdFields, refund)
}
