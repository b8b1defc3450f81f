import { readTimeZone } from '#lib/accounts/queries.ts'
import {
  entryToWire,
  listStatementEntries,
  periodToWire,
  StatementPage,
  statementQuery,
} from '#lib/dashboard/statement.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /statement': endpoint({
    method: 'GET',
    operationId: 'listStatementEntries',
    isCompressible: true,
    summary: 'List the entries of the statement',
    description:
      'Returns every movement of the available balance, newest first. Without `kind`, `opening_balance` plus all amounts of the period is `closing_balance`; without `to`, that is the balance of the account when the first page was read, and further pages keep to it.',
    allow: 'statement:read',
    query: statementQuery,
    response: StatementPage,
    async handle({ account, mode, query }) {
      const timeZone = await readTimeZone(account.id)
      const list = await listStatementEntries({ accountId: account.id, mode, timeZone }, query)
      const period = periodToWire(list, { mode, time_zone: timeZone })
      return pageResult(list.page, entryToWire, 'next_cursor', period)
    },
  }),
})
