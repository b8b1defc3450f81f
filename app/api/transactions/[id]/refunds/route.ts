import { findCharge } from '#lib/charges/list.ts'
import { createRefund, listRefunds, readCreatedRefund } from '#lib/charges/refunds/refund.ts'
import { type RefundRow, refundRequest, refundsQuery } from '#lib/charges/refunds/schema.ts'
import { createdRefundToWire, RefundCreated, RefundPage } from '#lib/charges/refunds/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'createRefund',
  effect: 'refund',
  summary: 'Refund a charge',
  description:
    'Refunds what is left of a paid charge, or a part of it, to the payer, within 90 days of the payment. An amount that the payer disputes cannot be refunded until the dispute ends; one that was lost in a dispute cannot be refunded at all. The amount is held at once. The events `transaction.refunded` and `transaction.refund_failed` report the outcome.',
  allow: 'refunds:write',
  proof: 'required',
  body: refundRequest,
  response: RefundCreated,
  errorCodes: [
    'transaction_not_found',
    'external_id_ambiguous',
    'not_paid',
    'refund_window_closed',
    'refund_exceeds_remainder',
    'insufficient_balance',
  ],
  idempotency: {
    retentionS: 30 * 86_400,
    rebuild: async ({ accountId, mode }, id) =>
      createdResponse(await readCreatedRefund(accountId, mode, id)),
  },
  async handle({ account, mode, params, body, userId: by, once }) {
    return createdResponse(
      await createRefund(account.authority, mode, params.id ?? '', { ...body, by }, once),
    )
  },
})

function createdResponse(refund: RefundRow) {
  return { data: createdRefundToWire(refund) }
}

export const GET = endpoint({
  method: 'GET',
  operationId: 'listRefunds',
  isCompressible: true,
  summary: 'List the refunds of a charge',
  description: 'Returns refunds of every status, newest first.',
  allow: 'transactions:read',
  query: refundsQuery,
  response: RefundPage,
  errorCodes: ['transaction_not_found'],
  async handle({ account, mode, params, query }) {
    const charge = await findCharge(account.id, mode, params.id ?? '')
    if (!charge) throw refuse('transaction_not_found')
    return pageResult(await listRefunds(account.id, mode, charge.id, query))
  },
})
