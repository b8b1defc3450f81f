import { adminEndpoint } from '#lib/http/endpoint.ts'
import { findAccounts } from '#lib/operator/accounts.ts'
import { FindAccountsQuery, FoundAccounts } from '#lib/operator/wire.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: "Find accounts by name, id or owner's e-mail",
  query: FindAccountsQuery,
  response: FoundAccounts,
  async handle({ query }) {
    return { data: await findAccounts(query.q) }
  },
})
