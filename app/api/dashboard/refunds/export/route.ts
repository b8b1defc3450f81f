import * as z from 'zod'
import { exportRefunds, recordExport, refundsExportQuery } from '#lib/dashboard/exports.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the matching refunds as CSV',
  allow: 'dashboard:read',
  query: refundsExportQuery,
  response: z.string(),
  isExport: true,
  async handle({ account, mode, userId, query }) {
    await recordExport('refunds.exported', userId, account.id, { ...query, mode })
    return exportRefunds(account.id, mode, query)
  },
})
