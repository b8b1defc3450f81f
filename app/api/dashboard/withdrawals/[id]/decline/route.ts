import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { declineRequest } from '#lib/withdrawals/approval.ts'
import { maskWithdrawalRead, serializeWithdrawal, WithdrawalRead } from '#lib/withdrawals/wire.ts'

export const POST = endpoint({
  method: 'POST',
  summary: 'Decline a withdrawal that waits for a second member',
  allow: 'withdrawals:approve',
  proof: 'required',
  effect: 'none',
  response: WithdrawalRead,
  mask: maskWithdrawalRead,
  errorCodes: ['withdrawal_not_found', 'approval_ended'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const { id: by } = requireActor(userId)
    return {
      data: serializeWithdrawal(await declineRequest({ accountId: account.id, mode, id, by })),
    }
  },
})
