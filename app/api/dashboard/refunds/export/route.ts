import * as z from 'zod'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { recordExport } from '#lib/views/dashboard/record-export.ts'
import { exportRefunds, refundsExportQuery } from '#lib/views/dashboard/refunds-export.ts'

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
