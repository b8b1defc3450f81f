import * as z from 'zod'
import { exportQuery, exportStatement } from '#lib/dashboard/statement-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Export the statement of a period, as CSV or OFX',
  allow: 'dashboard:read',
  query: exportQuery,
  answer: z.string(),
  handle: ({ account, mode, query }) => exportStatement(account, mode, query),
})
