import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { leaveAccount } from '#lib/rooms/accounts/remove.ts'
import { EmptyResponse } from '#lib/rooms/accounts/wire.ts'
import { revokeChildren } from '#lib/rooms/tokens/issued.ts'

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
