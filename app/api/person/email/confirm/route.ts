import { admitPending } from '#lib/accounts/members.ts'
import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { emailConfirmation } from '#lib/people/schema.ts'
import { confirmEmail } from '#lib/people/users.ts'

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
