import * as z from 'zod'
import { recordExport } from '#lib/dashboard/record-export.ts'
import { exportWithdrawals, withdrawalsExportQuery } from '#lib/dashboard/withdrawals-export.ts'
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
