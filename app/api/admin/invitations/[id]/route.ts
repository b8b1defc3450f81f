import { revokeInvitation } from '#lib/accounts/invitations.ts'
import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'

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
