import { cancelCharge } from '#lib/charges/cancel.ts'
import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { cancelRequest } from '#lib/charges/schema.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'cancelCharge',
  effect: 'none',
  summary: 'Cancel a charge',
  description:
    'Ends a pending charge as `expired`, with `cancelled_at`. A repeated call returns the same charge. A payment that arrives afterwards is credited: the charge is then `paid`.',
  allow: 'transactions:write',
  proof: { notRequired: 'It takes no money; a payment that arrives later is credited.' },
  body: cancelRequest,
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const charge = await cancelCharge({ accountId: account.id, mode, by: userId }, id)
    return { status: 'success', data: serializeCharge(charge) }
  },
})
