import { readTimeZone } from '#lib/accounts/queries.ts'
import { BalanceHistory, balanceQuery, readBalanceHistory } from '#lib/dashboard/statement.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /balance/history': endpoint({
    method: 'GET',
    operationId: 'listBalanceHistory',
    isCompressible: true,
    summary: 'List the balance of each day',
    description:
      'Returns the balance at the beginning and end of each day, newest first, and what came in and left. Days are those of the account’s time zone, as in the dashboard; at most 366. `from` and `to` select the same period as in `GET /statement`.',
    allow: 'statement:read',
    query: balanceQuery,
    response: BalanceHistory,
    async handle({ account, mode, query }) {
      const timeZone = await readTimeZone(account.id)
      const data = await readBalanceHistory({ accountId: account.id, mode, timeZone }, query)
      return { data, mode, time_zone: timeZone }
    },
  }),
})
