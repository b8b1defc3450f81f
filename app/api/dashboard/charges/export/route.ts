import * as z from 'zod'
import { chargesExportQuery, exportCharges } from '#lib/dashboard/charges-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Export the charges that fit, as CSV',
  allow: 'dashboard:read',
  query: chargesExportQuery,
  answer: z.string(),
  handle: ({ account, mode, query }) => exportCharges(account.id, mode, query),
})
