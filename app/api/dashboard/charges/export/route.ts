import * as z from 'zod'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { chargesExportQuery, exportCharges } from '#lib/views/dashboard/charges-export.ts'
import { noteExport } from '#lib/views/dashboard/note-export.ts'

export const GET = endpoint({
  summary: 'Export the matching charges as CSV',
  allow: 'dashboard:read',
  query: chargesExportQuery,
  answer: z.string(),
  async handle({ account, mode, userId, query }) {
    await noteExport('charges.exported', userId, account.id, { ...query, mode })
    return exportCharges(account.id, mode, query)
  },
})
