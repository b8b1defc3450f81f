import { revokeInvitation } from '#lib/accounts/invitations.ts'
import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
