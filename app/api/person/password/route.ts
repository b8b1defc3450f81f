import * as z from 'zod'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { changePassword, hasPassword } from '#lib/people/change-password.ts'
import { passwordChange } from '#lib/people/schema.ts'
import { requireProof } from '#lib/session/proof.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Change the password',
  body: passwordChange,
  response: z.object({ data: z.object({}) }),
  errorCodes: ['too_many_requests'],
  proof: {
    notRequired:
      'The request contains the current password; if it is not enough, `handle` requires a proof.',
  },
  async handle({ user, body, rememberDevice }) {
    // Requires a recent proof, unless the current password (checked by changePassword) is the only
    // factor. OpenID users may have no password.
    if (user.hasSecondFactor || !(await hasPassword(user.id))) requireProof(user, null)
    await changePassword(user, body)
    rememberDevice(user.id)
    return { data: {} }
  },
})
