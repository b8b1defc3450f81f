import { joinAccount } from '#lib/accounts/join.ts'
import { joinRequest } from '#lib/accounts/schema.ts'
import { Joined } from '#lib/accounts/wire.ts'
import { personDoor } from '#lib/http/door.ts'

export const POST = personDoor({
  summary: 'Take an invitation as whoever is signed in',
  body: joinRequest,
  answer: Joined,
  refuses: ['invitation_ended', 'other_person', 'account_not_active'],
  async handle({ user, body }) {
    const { id, role } = await joinAccount(body.secret, user)
    return { data: { account_id: id, role } }
  },
})
