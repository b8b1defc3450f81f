import { endpoint } from '#lib/http/endpoint.ts'
import { readBalances } from '#lib/ledger/accounts.ts'

export const GET = endpoint({
  allow: 'account:read',
  async handle({ account, mode }) {
    const { available } = await readBalances(account.id, mode)
    return { name: account.name, balance: available }
  },
})
