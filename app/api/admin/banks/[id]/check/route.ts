import { requireActor } from '#lib/audit/record.ts'
import { checkConnection } from '#lib/banks/connection-setup.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank, serializeCheck } from '#lib/operator/banks/list.ts'
import { BankChecked } from '#lib/operator/banks/schema.ts'

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
