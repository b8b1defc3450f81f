import * as z from 'zod'
import { chargesExportQuery, exportCharges, recordExport } from '#lib/dashboard/exports.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the matching charges as CSV',
  allow: 'dashboard:read',
  proof: 'required',
  query: chargesExportQuery,
  response: z.string(),
  isExport: true,
  async handle({ account, mode, userId, query, readsPayers }) {
    await recordExport('charges.exported', userId, account.id, { ...query, mode })
    return exportCharges(account.id, mode, { ...query, matchesDocuments: readsPayers })
  },
})
