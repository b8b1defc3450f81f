import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { suspendAccount } from '#lib/rooms/accounts/activate.ts'
import { readStanding } from '#lib/views/admin/accounts.ts'
import { reasoned } from '#lib/views/admin/schema.ts'
import { AccountStanding } from '#lib/views/admin/wire.ts'

export const POST = adminDoor({
  summary: 'Suspend an account',
  body: reasoned,
  answer: AccountStanding,
  refuses: ['account_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id = '' } }) {
    await suspendAccount(id, body.reason, requireActor(user.id))
    return { data: await readStanding(id) }
  },
})
