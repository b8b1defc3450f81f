import { AccountRead } from '#lib/accounts/schema.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { availableRow, readAvailable } from '#lib/ledger/book.ts'

export const { GET } = endpoints({
  'GET /account': endpoint({
    method: 'GET',
    operationId: 'getAccount',
    summary: 'Read the account',
    description: "Returns the name of the account and its available balance in the token's mode.",
    allow: 'account:read',
    ignoresQuery: true,
    response: AccountRead,
    reads: () => ({ row: availableRow, id: null }),
    async handle({ account, mode, finder }) {
      const balance = await readAvailable(account.id, mode, finder(availableRow))
      return { name: account.name, balance }
    },
  }),
})
