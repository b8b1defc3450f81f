import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { EmptyResponse } from '#lib/rooms/accounts/wire.ts'
import { mailResetLink } from '#lib/services/people/reset-by-staff.ts'
import { reasonRequest } from '#lib/views/admin/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Mail a person a link for a new password',
  body: reasonRequest,
  response: EmptyResponse,
  errorCodes: ['user_not_found', 'admin_reset_refused', 'not_supported'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await mailResetLink(id, body.reason, requireActor(user.id))
    return { data: {} }
  },
})
