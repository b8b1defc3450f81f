import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { findCharge, maskChargeRead, serializeCharge } from '#lib/rooms/charges/queries.ts'
import { ChargeRead } from '#lib/rooms/charges/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getCharge',
  isCompressible: true,
  summary: 'Read a charge',
  description: 'Returns the charge with its current status, by `transaction_id` or `external_id`.',
  allow: 'transactions:read',
  ignoresQuery: true,
  hasEtag: true,
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found'],
  allowsRememberedCaller: true,
  async handle({ account, mode, params }) {
    const charge = await findCharge(account.ref, mode, params.id ?? '')
    if (!charge) throw refuse('transaction_not_found')
    return { status: 'success', data: serializeCharge(charge) }
  },
})
