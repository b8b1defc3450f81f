import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { revokeInvitation } from '#lib/rooms/accounts/revoke.ts'
import { EmptyResponse } from '#lib/rooms/accounts/wire.ts'

export const DELETE = endpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Revoke an invitation',
  allow: 'members:write',
  proof: 'required',
  response: EmptyResponse,
  errorCodes: ['invitation_not_found'],
  async handle({ account, params: { id = '' }, userId }) {
    await revokeInvitation(account.id, id, requireActor(userId))
    return { data: {} }
  },
})
