import * as z from 'zod'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { writeOffRequest } from '#lib/operator/schema.ts'

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
