import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { limitConnection } from '#lib/services/gateway/limit-connection.ts'
import { LimitsRequest } from '#lib/services/gateway/schema.ts'
import { requireBank } from '#lib/views/admin/banks/detail.ts'
import { BankLimited } from '#lib/views/admin/banks/schema.ts'

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
