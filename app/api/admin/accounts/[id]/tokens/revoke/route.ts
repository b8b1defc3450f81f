import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { cancelTokens } from '#lib/rooms/tokens/cancel.ts'
import { readStanding } from '#lib/views/admin/accounts.ts'
import { reasoned } from '#lib/views/admin/schema.ts'

export const POST = adminDoor({
  summary: 'Revoke all tokens of an account',
  body: reasoned,
  answer: z.object({ data: z.object({ revoked: z.int() }) }),
  refuses: ['account_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id = '' } }) {
    await readStanding(id)
    return { data: { revoked: await cancelTokens(id, body.reason, requireActor(user.id)) } }
  },
})
