import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readBankMoney } from '#lib/operator/banks/list.ts'
import { BankMoneyRead } from '#lib/operator/banks/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Ask a bank for its balance, and hold it against the books and what merchants own',
  response: BankMoneyRead,
  errorCodes: ['connection_not_found'],
  async handle({ params: { id = '' } }) {
    return { data: await readBankMoney(id) }
  },
})
