import { requireActor } from '#lib/audit/record.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  summary: 'Cancel a pending charge',
  allow: 'charges:write',
  proof: { notRequired: 'It takes no money; a payment that arrives later is credited.' },
  effect: 'none',
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const canceller = { accountId: account.id, mode, by: requireActor(userId).id }
    const charge = await cancelCharge(canceller, id)
    return { status: 'success', data: serializeCharge(charge) }
  },
})
