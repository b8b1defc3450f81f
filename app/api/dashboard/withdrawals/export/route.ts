import * as z from 'zod'
import { exportWithdrawals, recordExport, withdrawalsExportQuery } from '#lib/dashboard/exports.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the matching withdrawals as CSV',
  allow: 'dashboard:read',
  query: withdrawalsExportQuery,
  response: z.string(),
  isExport: true,
  async handle({ account, mode, userId, query }) {
    await recordExport('withdrawals.exported', userId, account.id, { ...query, mode })
    return exportWithdrawals(account.id, mode, query)
  },
})
