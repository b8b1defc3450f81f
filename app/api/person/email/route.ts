import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { requestEmailLink } from '#lib/people/users.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Mail a link that proves the e-mail address of the signed-in user',
  response: EmptyResponse,
  errorCodes: ['too_many_requests'],
  proof: { notRequired: 'The mail goes to the address of this user only.' },
  async handle({ user }) {
    await requestEmailLink(user)
    return { data: {} }
  },
})
