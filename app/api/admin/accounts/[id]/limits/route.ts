import * as z from 'zod'
import { limitAccount } from '#lib/accounts/limit.ts'
import { accountLimits } from '#lib/accounts/schema.ts'
import { actorOf } from '#lib/audit/note.ts'
import { TrocoError } from '#lib/errors.ts'
import { adminDoor } from '#lib/http/door.ts'

export const PUT = adminDoor({
  summary: 'Say what an account may move in live mode',
  body: accountLimits,
  answer: z.object({ data: accountLimits }),
  refuses: ['account_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id = '' } }) {
    const data = await limitAccount(id, body, actorOf(user.id))
    if (!data) throw new TrocoError('account_not_found', 'Account not found')
    return { data }
  },
})
