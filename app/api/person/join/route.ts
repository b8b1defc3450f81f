import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { joinAccount } from '#lib/rooms/accounts/join.ts'
import { joinRequest } from '#lib/rooms/accounts/schema.ts'
import { Joined } from '#lib/rooms/accounts/wire.ts'

export const POST = userEndpoint({
  summary: 'Accept an invitation as the signed-in user',
  body: joinRequest,
  response: Joined,
  errorCodes: ['invitation_ended', 'other_person', 'account_not_active'],
  async handle({ user, body }) {
    const { id, role } = await joinAccount(body.secret, user)
    return { data: { account_id: id, role } }
  },
})
