import { simulateRefund } from '#lib/charges/refunds/refund.ts'
import { refundDecision } from '#lib/charges/refunds/schema.ts'
import { RefundRead } from '#lib/charges/refunds/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'simulateRefund',
  effect: 'none',
  summary: 'Simulate the outcome of a refund',
  description:
    'Test mode only. Completes or rejects a `pending` refund, such as one of a charge whose `client_email` begins with `hold@`.',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money is involved.' },
  body: refundDecision,
  response: RefundRead,
  errorCodes: ['refund_not_found', 'already_final', 'test_mode_only'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params, once }) {
    if (mode !== 'test') throw refuse('test_mode_only')
    return { data: await simulateRefund(account.id, params.id ?? '', body, once?.isResumed) }
  },
})
