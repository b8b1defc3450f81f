import * as z from 'zod'
import { requestSignUp } from '#lib/accounts/create.ts'
import { signUpRequest } from '#lib/accounts/schema.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

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
