import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { describeCharge } from '#lib/charges/reveal.ts'
import { descriptionRequest } from '#lib/charges/schema.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  summary: 'Describe a pending charge for its payer',
  allow: 'charges:write',
  proof: { notRequired: 'It changes a text on the payer’s page, and neither amount nor receiver.' },
  effect: 'none',
  body: descriptionRequest,
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, body }) {
    const charge = await describeCharge(account.id, mode, id, body.description ?? null)
    return { status: 'success', data: serializeCharge(charge) }
  },
})
