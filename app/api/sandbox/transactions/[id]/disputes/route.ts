import { simulateDispute } from '#lib/charges/disputes/dispute.ts'
import { disputeOpening } from '#lib/charges/disputes/schema.ts'
import { DisputeRead } from '#lib/charges/disputes/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
