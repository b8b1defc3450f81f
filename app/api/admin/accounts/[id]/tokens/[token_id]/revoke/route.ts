import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { revokeTokenAsOperator } from '#lib/tokens/revoke.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Revoke a token',
  body: reasonRequest,
  response: z.object({ data: z.object({ id: z.string(), was_in_force: z.boolean() }) }),
  errorCodes: ['token_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id: accountId = '', token_id: id = '' } }) {
    const revoked = await revokeTokenAsOperator(
      { accountId, id },
      body.reason,
      requireActor(user.id),
    )
    return { data: { id, was_in_force: revoked !== null } }
  },
})
