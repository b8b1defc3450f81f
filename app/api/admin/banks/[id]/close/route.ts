import { closeConnection } from '#lib/accounts/connections.ts'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank } from '#lib/operator/banks/list.ts'
import { BankClosed, closeRequest } from '#lib/operator/banks/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Close a connection to a bank: what began there ends, and nothing new begins',
  body: closeRequest,
  response: BankClosed,
  errorCodes: ['connection_not_found', 'already_final'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await requireBank(id)
    const accounts = await closeConnection(id, requireActor(user.id), body.reason)
    return { data: { accounts } }
  },
})
