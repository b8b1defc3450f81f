import * as z from 'zod'
import { visitorEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { mailInvitation } from '#lib/rooms/accounts/mail-invitation.ts'
import { joinRequest } from '#lib/rooms/accounts/schema.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

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
