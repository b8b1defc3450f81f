import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { SecondFactorReset } from '#lib/operator/wire.ts'
import { resetSecondFactor } from '#lib/people/change-password.ts'

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
