import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { admitPending } from '#lib/rooms/accounts/admit.ts'
import { emailConfirmation } from '#lib/services/people/schema.ts'
import { confirmEmail } from '#lib/services/people/verify-email.ts'
import { EmptyResponse } from '#lib/services/people/wire.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Prove the e-mail address of the signed-in user with the mailed link',
  body: emailConfirmation,
  response: EmptyResponse,
  errorCodes: ['link_expired'],
  proof: { notRequired: 'It adds access for this user only, with a secret from their mailbox.' },
  async handle({ user, body }) {
    await confirmEmail(user, body.secret, admitPending)
    return { data: {} }
  },
})
