import { addBank } from '#lib/accounts/connections.ts'
import { requireActor } from '#lib/audit/record.ts'
import { BankRequest } from '#lib/banks/schema.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { listBankLines, sumOwned } from '#lib/operator/banks/list.ts'
import { BankAdded, BankList } from '#lib/operator/banks/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the connections to banks, and what merchants own in live mode',
  response: BankList,
  async handle() {
    const [data, owned] = await Promise.all([listBankLines(), sumOwned()])
    return { data, owned }
  },
})

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Add a connection to a bank, which serves no account before its check has passed',
  body: BankRequest,
  response: BankAdded,
  proof: 'required',
  async handle({ user, body }) {
    return { data: { id: await addBank(body, requireActor(user.id)) } }
  },
})
