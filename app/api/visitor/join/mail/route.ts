import * as z from 'zod'
import { mailInvitation } from '#lib/accounts/invitations.ts'
import { joinRequest } from '#lib/accounts/schema.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Mail the link of an invitation to the invited e-mail again',
  body: joinRequest,
  response: z.object({ data: z.object({}) }),
  errorCodes: ['invitation_ended', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    await mailInvitation(body.secret)
    return { data: {} }
  },
})
