import { createCharge } from '#lib/charges/create.ts'
import { chargeRequest, createdChargeToWire } from '#lib/charges/schema.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  allow: 'transactions:write',
  body: chargeRequest,
  invalid: 'first_message',
  async handle({ account, mode, body, ip }) {
    const charge = await createCharge(account, mode, body, ip)
    return { status: 'success', data: createdChargeToWire(charge) }
  },
})
