import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readStatusChange } from '#lib/operator/accounts.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { revokeAccountTokens } from '#lib/tokens/revoke.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Revoke all tokens of an account',
  body: reasonRequest,
  response: z.object({ data: z.object({ revoked: z.int() }) }),
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await readStatusChange(id)
    return { data: { revoked: await revokeAccountTokens(id, body.reason, requireActor(user.id)) } }
  },
})
