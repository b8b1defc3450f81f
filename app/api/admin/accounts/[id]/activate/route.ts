import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { activateAccount } from '#lib/rooms/accounts/activate.ts'
import { readStanding } from '#lib/views/admin/accounts.ts'
import { maybeReasoned } from '#lib/views/admin/schema.ts'
import { AccountStanding } from '#lib/views/admin/wire.ts'

export const POST = adminDoor({
  summary: 'Activate an account',
  body: maybeReasoned,
  answer: AccountStanding,
  refuses: ['account_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id = '' } }) {
    await activateAccount(id, body.reason, requireActor(user.id))
    return { data: await readStanding(id) }
  },
})
