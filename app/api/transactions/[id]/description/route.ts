import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { describeCharge } from '#lib/charges/reveal.ts'
import { descriptionRequest } from '#lib/charges/schema.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PUT = endpoint({
  method: 'PUT',
  operationId: 'describeCharge',
  effect: 'none',
  summary: 'Change the description of a charge',
  description:
    'Replaces the description that the payer sees while the charge is `pending`. Without `description`, removes it.',
  allow: 'transactions:write',
  proof: { notRequired: 'It changes a text on the payer’s page, and neither amount nor receiver.' },
  body: descriptionRequest,
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
  async handle({ account, mode, params: { id = '' }, body }) {
    const charge = await describeCharge(account.id, mode, id, body.description ?? null)
    return { status: 'success', data: serializeCharge(charge) }
  },
})
