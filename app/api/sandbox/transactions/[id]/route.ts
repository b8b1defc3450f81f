import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { OutcomeRequest } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'simulateCharge',
  effect: 'none',
  summary: 'Simulate the outcome of a charge',
  description:
    'Test mode only. Pays the charge, or makes it fail or expire. An expired or failed charge can still be paid.',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money or payer is involved.' },
  body: { test: OutcomeRequest, live: OutcomeRequest },
  response: ChargeRead,
  mask: maskChargeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final', 'test_mode_only'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params, once }) {
    if (mode !== 'test') throw refuse('test_mode_only')
    const { id = '' } = params
    const charge = await simulateCharge(account.id, id, body.outcome, once?.isResumed)
    return { status: 'success', data: serializeCharge(charge) }
  },
})
