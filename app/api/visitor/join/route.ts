import { joinAsNew } from '#lib/accounts/join.ts'
import { newcomerRequest } from '#lib/accounts/schema.ts'
import { JoinedAsNew } from '#lib/accounts/wire.ts'
import { visitorDoor } from '#lib/http/door.ts'
import { requireFew } from '#lib/people/throttle.ts'

export const POST = visitorDoor({
  summary: 'Take an invitation as somebody new',
  body: newcomerRequest,
  answer: JoinedAsNew,
  refuses: ['invitation_ended', 'account_not_active', 'too_many_requests'],
  async handle({ body, ip }) {
    await requireFew([['sign_up', ip]])
    const { id, role, email } = await joinAsNew(body)
    return { data: { account_id: id, role, email } }
  },
})
