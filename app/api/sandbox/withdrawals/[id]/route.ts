import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { DecisionRequest } from '#lib/withdrawals/schema.ts'
import { simulateWithdrawal } from '#lib/withdrawals/simulate.ts'
import { maskWithdrawalRead, serializeWithdrawal, WithdrawalRead } from '#lib/withdrawals/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'simulateWithdrawal',
  effect: 'none',
  summary: 'Simulate the outcome of a withdrawal',
  description:
    'Test mode only. Approves or rejects a `pending` withdrawal, such as one to a key that begins with `hold@`, or sends an `approved` one back.',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money is involved.' },
  body: { test: DecisionRequest, live: DecisionRequest },
  response: WithdrawalRead,
  mask: maskWithdrawalRead,
  errorCodes: ['withdrawal_not_found', 'already_final', 'approval_pending', 'test_mode_only'],
  idempotency: { retentionS: 30 * 86_400 },
  async handle({ account, mode, body, params, once }) {
    if (mode !== 'test') throw refuse('test_mode_only')
    const { id = '' } = params
    const withdrawal = await simulateWithdrawal(account.id, id, body, once?.isResumed)
    return { data: serializeWithdrawal(withdrawal) }
  },
})
