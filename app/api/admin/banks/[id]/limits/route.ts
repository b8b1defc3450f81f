import { requireActor } from '#lib/audit/record.ts'
import { limitConnection } from '#lib/banks/connections.ts'
import { LimitsRequest } from '#lib/banks/schema.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank } from '#lib/operator/banks/list.ts'
import { BankLimited } from '#lib/operator/banks/schema.ts'

export const PUT = adminEndpoint({
  method: 'PUT',
  effect: 'none',
  summary: 'Set the limits of what is paid out through a connection',
  body: LimitsRequest,
  response: BankLimited,
  errorCodes: ['connection_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await requireBank(id)
    return { data: await limitConnection(id, body, requireActor(user.id)) }
  },
})
