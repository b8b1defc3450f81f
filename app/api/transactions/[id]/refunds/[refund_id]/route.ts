import { findCharge } from '#lib/charges/list.ts'
import { findRefund } from '#lib/charges/refunds/refund.ts'
import { RefundRead } from '#lib/charges/refunds/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getRefund',
  summary: 'Read a refund',
  description: 'Returns the refund with its current status.',
  allow: 'transactions:read',
  hasEtag: true,
  response: RefundRead,
  errorCodes: ['transaction_not_found', 'refund_not_found'],
  async handle({ account, mode, params }) {
    const charge = await findCharge(account.id, mode, params.id ?? '')
    if (!charge) throw refuse('transaction_not_found')
    const refund = await findRefund(account.id, mode, charge.id, params.refund_id ?? '')
    if (!refund) throw refuse('refund_not_found')
    return { data: refund }
  },
})
