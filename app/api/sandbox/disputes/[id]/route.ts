import { simulateDisputeEnd } from '#lib/charges/disputes/dispute.ts'
import { disputeEnd } from '#lib/charges/disputes/schema.ts'
import { DisputeRead } from '#lib/charges/disputes/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'simulateDispute',
  effect: 'none',
  summary: 'Simulate the end of a dispute',
  description:
    'Test mode only. `won`: the amount returns to the balance. `lost`: it goes to the payer, or a part of it.',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money is involved.' },
  body: disputeEnd,
  response: DisputeRead,
  errorCodes: ['dispute_not_found', 'already_final', 'test_mode_only'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params, once }) {
    if (mode !== 'test') throw refuse('test_mode_only')
    return { data: await simulateDisputeEnd(account.id, params.id ?? '', body, once?.isResumed) }
  },
})
