import * as z from 'zod'
import { reasoned } from '#lib/admin/schema.ts'
import { actorOf } from '#lib/audit/note.ts'
import { adminDoor } from '#lib/http/door.ts'
import { cancelToken } from '#lib/tokens/cancel.ts'

export const POST = adminDoor({
  summary: 'End a token, from the next request on',
  body: reasoned,
  answer: z.object({ data: z.object({ id: z.string(), was_in_force: z.boolean() }) }),
  refuses: ['token_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id: accountId = '', token_id: id = '' } }) {
    const ended = await cancelToken({ accountId, id }, body.reason, actorOf(user.id))
    return { data: { id, was_in_force: ended !== null } }
  },
})
