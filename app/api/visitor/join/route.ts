import { visitorEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { joinAsNewUser } from '#lib/rooms/accounts/join.ts'
import { newcomerRequest } from '#lib/rooms/accounts/schema.ts'
import { JoinedAsNew } from '#lib/rooms/accounts/wire.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

export const POST = visitorEndpoint({
  effect: 'joining',
  summary: 'Accept an invitation as a new user',
  body: newcomerRequest,
  response: JoinedAsNew,
  errorCodes: ['invitation_ended', 'account_not_active', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    const { id, role, email } = await joinAsNewUser(body)
    return { data: { account_id: id, role, email } }
  },
})
