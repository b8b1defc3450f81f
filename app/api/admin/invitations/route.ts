import { inviteMerchant } from '#lib/accounts/invite.ts'
import { listInvitations } from '#lib/accounts/people-queries.ts'
import { openingRequest } from '#lib/accounts/schema.ts'
import { InvitationList, InvitationMade } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { env } from '#lib/env.ts'
import { adminDoor } from '#lib/http/door.ts'

export const GET = adminDoor({
  summary: 'List whom the operator asked to open an account',
  answer: InvitationList,
  async handle() {
    return { data: await listInvitations(null) }
  },
})

export const POST = adminDoor({
  summary: 'Ask somebody to open an account, and show the link this once',
  body: openingRequest,
  answer: InvitationMade,
  refuses: ['sign_up_closed'],
  takesProof: true,
  async handle({ user, body }) {
    const { id, path } = await inviteMerchant(body.email, actorOf(user.id))
    return { data: { id, link: env().PUBLIC_URL + path } }
  },
})
