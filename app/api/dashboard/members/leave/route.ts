import { leaveAccount } from '#lib/accounts/members.ts'
import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { revokeChildren } from '#lib/tokens/change.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Leave the account',
  allow: 'members:leave',
  proof: 'required',
  response: EmptyResponse,
  errorCodes: ['last_owner'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, userId }) {
    const actor = requireActor(userId)
    await leaveAccount(account.id, actor, tx => revokeChildren(tx, account.id, actor))
    return { data: {} }
  },
})
