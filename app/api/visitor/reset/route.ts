import * as z from 'zod'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { requestReset } from '#lib/people/change-password.ts'
import { resetRequest } from '#lib/people/schema.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Request a password reset link',
  body: resetRequest,
  response: z.object({ data: z.object({}) }),
  errorCodes: ['too_many_requests'],
  async handle({ body, ip }) {
    await requestReset(body.email, ip)
    return { data: {} }
  },
})
