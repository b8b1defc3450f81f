import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { adminDoor } from '#lib/edge/http/door.ts'
import { cancelToken } from '#lib/rooms/tokens/cancel.ts'
import { reasoned } from '#lib/views/admin/schema.ts'

export const POST = adminDoor({
  summary: 'Revoke a token',
  body: reasoned,
  answer: z.object({ data: z.object({ id: z.string(), was_in_force: z.boolean() }) }),
  refuses: ['token_not_found'],
  takesProof: true,
  async handle({ user, body, params: { id: accountId = '', token_id: id = '' } }) {
    const ended = await cancelToken({ accountId, id }, body.reason, requireActor(user.id))
    return { data: { id, was_in_force: ended !== null } }
  },
})
