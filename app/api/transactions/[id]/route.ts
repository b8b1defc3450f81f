import { chargeRow, findCharge, maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
  reads: ({ id = '' }) => (isUuid(id) ? { row: chargeRow, id } : null),
  async handle({ account, mode, params, finder }) {
    const charge = await findCharge(account.id, mode, params.id ?? '', finder(chargeRow))
    if (!charge) throw refuse('transaction_not_found')
    return { status: 'success', data: serializeCharge(charge) }
  },
})
