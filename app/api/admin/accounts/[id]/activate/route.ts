import { activateAccount } from '#lib/accounts/activate.ts'
import { readStanding } from '#lib/admin/accounts.ts'
import { maybeReasoned } from '#lib/admin/schema.ts'
import { AccountStanding } from '#lib/admin/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { adminDoor } from '#lib/http/door.ts'

export const POST = adminDoor({
  summary: 'Let an account work, from the next request on',
  body: maybeReasoned,
  answer: AccountStanding,
  refuses: ['account_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id = '' } }) {
    await activateAccount(id, body.reason, actorOf(user.id))
    return { data: await readStanding(id) }
  },
})
