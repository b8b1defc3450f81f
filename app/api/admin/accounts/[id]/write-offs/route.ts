import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { writeOffClaim } from '#lib/rooms/accounts/write-off.ts'
import { writeOffRequest } from '#lib/views/admin/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Give up what an account owes for lost disputes, at the cost of the operator',
  body: writeOffRequest,
  response: z.object({ data: z.object({ amount: z.int() }) }),
  errorCodes: ['not_found'],
  proof: 'required',
  async handle({ user, body: { mode, amount, reason }, params: { id = '' } }) {
    const terms = { amount, reason }
    return { data: { amount: await writeOffClaim(id, mode, terms, requireActor(user.id)) } }
  },
})
