import { requireActor } from '#lib/audit/record.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { mailResetLink } from '#lib/people/change-password.ts'

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
