import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { resetSecondFactor } from '#lib/services/people/reset-by-staff.ts'
import { reasonRequest } from '#lib/views/admin/schema.ts'
import { SecondFactorReset } from '#lib/views/admin/wire.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Remove the second factors of a person and end their sessions',
  body: reasonRequest,
  response: SecondFactorReset,
  errorCodes: ['user_not_found', 'admin_reset_refused', 'not_supported'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const isChanged = await resetSecondFactor(id, body.reason, requireActor(user.id))
    return { data: { is_changed: isChanged } }
  },
})
