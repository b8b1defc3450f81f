import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { checkConnection } from '#lib/services/gateway/check-connection.ts'
import { requireBank, serializeCheck } from '#lib/views/admin/banks/detail.ts'
import { BankChecked } from '#lib/views/admin/banks/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Check a connection to a bank, without moving money, and store the result',
  response: BankChecked,
  errorCodes: ['connection_not_found'],
  proof: 'required',
  async handle({ user, params: { id = '' } }) {
    await requireBank(id)
    return { data: serializeCheck(await checkConnection(id, requireActor(user.id))) }
  },
})
