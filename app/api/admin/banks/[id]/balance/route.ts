import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { readBankMoney } from '#lib/views/admin/banks/detail.ts'
import { BankMoneyRead } from '#lib/views/admin/banks/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Ask a bank for its balance, and hold it against the books and what merchants own',
  response: BankMoneyRead,
  errorCodes: ['connection_not_found'],
  async handle({ params: { id = '' } }) {
    return { data: await readBankMoney(id) }
  },
})
