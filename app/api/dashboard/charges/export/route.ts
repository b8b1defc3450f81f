import * as z from 'zod'
import { chargesExportQuery, exportCharges } from '#lib/dashboard/charges-export.ts'
import { noteExport } from '#lib/dashboard/note-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Export the charges that fit, as CSV',
  allow: 'dashboard:read',
  query: chargesExportQuery,
  answer: z.string(),
  async handle({ account, mode, userId, query }) {
    await noteExport('charges.exported', userId, account.id, { ...query, mode })
    return exportCharges(account.id, mode, query)
  },
})
