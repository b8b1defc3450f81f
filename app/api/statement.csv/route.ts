import * as z from 'zod'
import { recordExport } from '#lib/dashboard/exports.ts'
import { statementFilter } from '#lib/dashboard/statement.ts'
import { CSV_TYPE, writeStatement } from '#lib/dashboard/statement-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /statement.csv': endpoint({
    method: 'GET',
    operationId: 'downloadStatement',
    summary: 'Download the statement as CSV',
    description:
      'Returns the movements of the period, oldest first, in columns named as the fields of `GET /statement`. Amounts are in cents. Text that a spreadsheet would evaluate as a formula has an apostrophe in front.',
    allow: 'statement:read',
    query: statementFilter,
    isExport: true,
    fileType: CSV_TYPE,
    response: z.string(),
    async handle({ account, mode, userId, query }) {
      // What a token reads is in no audit log.
      if (userId !== null)
        await recordExport('statement.exported', userId, account.id, {
          ...query,
          mode,
          format: 'csv',
        })
      return writeStatement(account.id, mode, query)
    },
  }),
})
