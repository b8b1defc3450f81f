import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { revokeInvitation } from '#lib/rooms/accounts/revoke.ts'
import { EmptyResponse } from '#lib/rooms/accounts/wire.ts'

export const DELETE = adminEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: "Revoke an administrator's invitation",
  response: EmptyResponse,
  errorCodes: ['invitation_not_found'],
  proof: 'required',
  async handle({ user, params: { id = '' } }) {
    await revokeInvitation(null, id, requireActor(user.id))
    return { data: {} }
  },
})
