import { visitorDoor } from '#lib/edge/http/door.ts'
import { joinAsNew } from '#lib/rooms/accounts/join.ts'
import { newcomerRequest } from '#lib/rooms/accounts/schema.ts'
import { JoinedAsNew } from '#lib/rooms/accounts/wire.ts'
import { requireWithinLimit } from '#lib/services/people/throttle.ts'

export const POST = visitorDoor({
  summary: 'Accept an invitation as a new user',
  body: newcomerRequest,
  answer: JoinedAsNew,
  refuses: ['invitation_ended', 'account_not_active', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireWithinLimit([['sign_up', ip]])
    const { id, role, email } = await joinAsNew(body)
    return { data: { account_id: id, role, email } }
  },
})
