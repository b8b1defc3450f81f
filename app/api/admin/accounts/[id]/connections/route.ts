import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { refuse } from '#lib/base/errors.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { assignConnections } from '#lib/rooms/accounts/assign-connections.ts'
import { AssignedConnections } from '#lib/services/gateway/schema.ts'

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
