import * as z from 'zod'
import { recordExport } from '#lib/dashboard/exports.ts'
import { exportQuery, exportStatement } from '#lib/dashboard/statement-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the statement of a period as CSV or OFX',
  allow: 'dashboard:read',
  query: exportQuery,
  response: z.string(),
  isExport: true,
  async handle({ account, mode, userId, query }) {
    await recordExport('statement.exported', userId, account.id, { ...query, mode })
    return exportStatement(account, mode, query)
  },
})
