import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { requestOpenidLink } from '#lib/people/openid.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Allow this session to link the OpenID provider',
  response: EmptyResponse,
  errorCodes: ['email_unverified', 'proof_required'],
  proof: 'required',
  async handle({ user }) {
    await requestOpenidLink(user)
    return { data: {} }
  },
})
