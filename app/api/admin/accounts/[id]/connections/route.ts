import * as z from 'zod'
import { assignConnections } from '#lib/accounts/connections.ts'
import { requireActor } from '#lib/audit/record.ts'
import { AssignedConnections } from '#lib/banks/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'

export const PUT = adminEndpoint({
  method: 'PUT',
  effect: 'none',
  summary: 'Set the connections through which an account receives and pays out in live mode',
  body: AssignedConnections,
  response: z.object({ data: AssignedConnections }),
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const data = await assignConnections(id, body, requireActor(user.id))
    if (!data) throw refuse('account_not_found')
    return { data }
  },
})
