import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { approveRequest } from '#lib/withdrawals/approval.ts'
import { maskWithdrawalRead, serializeWithdrawal, WithdrawalRead } from '#lib/withdrawals/wire.ts'

export const POST = endpoint({
  method: 'POST',
  summary: 'Approve a withdrawal that waits for a second member',
  allow: 'withdrawals:approve',
  proof: 'required',
  effect: 'withdrawal',
  response: WithdrawalRead,
  mask: maskWithdrawalRead,
  errorCodes: [
    'withdrawal_not_found',
    'approval_by_other',
    'approval_ended',
    'dispute_not_covered',
  ],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const { id: by } = requireActor(userId)
    return {
      data: serializeWithdrawal(await approveRequest({ accountId: account.id, mode, id, by })),
    }
  },
})
