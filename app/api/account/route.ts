import { AccountRead } from '#lib/accounts/schema.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readBalances } from '#lib/ledger/book.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getAccount',
  summary: 'Read the account',
  description: "Returns the name of the account and its available balance in the token's mode.",
  allow: 'account:read',
  ignoresQuery: true,
  response: AccountRead,
  async handle({ account, mode }) {
    const { available } = await readBalances(account.id, mode)
    return { name: account.name, balance: available }
  },
})
