import { AccountRead } from '#lib/accounts/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readBalances } from '#lib/ledger/accounts.ts'

export const GET = endpoint({
  summary: 'Read the account',
  description: "Its name, and what may be withdrawn in the token's mode.",
  allow: 'account:read',
  answer: AccountRead,
  quick: true,
  async handle({ account, mode }) {
    const { available } = await readBalances(account.ref, mode)
    return { name: account.name, balance: available }
  },
})
