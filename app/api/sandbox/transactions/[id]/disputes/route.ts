import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { disputeOpening } from '#lib/rooms/charges/disputes/schema.ts'
import { simulateDispute } from '#lib/rooms/charges/disputes/simulate.ts'
import { DisputeRead } from '#lib/rooms/charges/disputes/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'simulateChargeDispute',
  effect: 'none',
  summary: 'Simulate a dispute of a charge',
  description:
    'Test mode only. The payer disputes the payment, or a part of it. The amount is held until the dispute ends.',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money is involved.' },
  body: disputeOpening,
  response: DisputeRead,
  errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'not_paid', 'test_mode_only'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params, once }) {
    if (mode !== 'test') throw refuse('test_mode_only')
    return { data: await simulateDispute(account.id, params.id ?? '', body.amount, once?.id) }
  },
})
