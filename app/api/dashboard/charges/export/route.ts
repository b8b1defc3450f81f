import * as z from 'zod'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { chargesExportQuery, exportCharges } from '#lib/views/dashboard/charges-export.ts'
import { recordExport } from '#lib/views/dashboard/record-export.ts'

export const GET = endpoint({
  summary: 'Export the matching charges as CSV',
  allow: 'dashboard:read',
  requiresProof: true,
  query: chargesExportQuery,
  response: z.string(),
  async handle({ account, mode, userId, query }) {
    await recordExport('charges.exported', userId, account.id, { ...query, mode })
    return exportCharges(account.id, mode, query)
  },
})
