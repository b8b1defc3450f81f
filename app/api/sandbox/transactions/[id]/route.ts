import { chargeToWire, OutcomeRequest } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { TrocoError } from '#lib/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  allow: ['transactions:write', 'withdrawals:write'],
  body: { test: OutcomeRequest, live: OutcomeRequest },
  async handle({ account, mode, body, params }) {
    if (mode !== 'test') throw new TrocoError('not_found', 'Not found')
    const charge = await simulateCharge(account.id, params.id ?? '', body.outcome)
    return { status: 'success', data: chargeToWire(charge) }
  },
})
