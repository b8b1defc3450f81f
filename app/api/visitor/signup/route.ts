import * as z from 'zod'
import { visitorEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { signUpRequest } from '#lib/rooms/accounts/schema.ts'
import { requestSignUp } from '#lib/rooms/accounts/sign-up.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Request a link that opens an account for a new user',
  body: signUpRequest,
  response: z.object({ data: z.object({}) }),
  errorCodes: ['sign_up_closed', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    await requestSignUp(body)
    return { data: {} }
  },
})
