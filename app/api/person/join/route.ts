import { joinAccount } from '#lib/accounts/join.ts'
import { Joined, joinRequest } from '#lib/accounts/schema.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'joining',
  summary: 'Accept an invitation as the signed-in user',
  body: joinRequest,
  response: Joined,
  errorCodes: ['invitation_ended', 'email_unverified', 'other_person', 'account_not_active'],
  proof: {
    notRequired:
      'It adds access for this user only, with the secret of an invitation to their e-mail.',
  },
  async handle({ user, body }) {
    const { id, role } = await joinAccount(body.secret, user)
    return { data: { account_id: id, role } }
  },
})
