import * as z from 'zod'
import { admitPending } from '#lib/accounts/members.ts'
import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { confirmReset } from '#lib/people/change-password.ts'
import { resetConfirmation } from '#lib/people/schema.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Set a new password with a reset link',
  body: resetConfirmation,
  response: z.object({ data: z.object({}) }),
  errorCodes: ['link_expired'],
  async handle({ body, rememberDevice }) {
    // The mailed link proves the user: others who guess passwords must not lock them out again.
    rememberDevice(await confirmReset(body, admitPending))
    return { data: {} }
  },
})
