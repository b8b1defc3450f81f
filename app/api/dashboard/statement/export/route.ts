import * as z from 'zod'
import { noteExport } from '#lib/dashboard/note-export.ts'
import { exportQuery, exportStatement } from '#lib/dashboard/statement-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Export the statement of a period, as CSV or OFX',
  allow: 'dashboard:read',
  query: exportQuery,
  answer: z.string(),
  async handle({ account, mode, userId, query }) {
    await noteExport('statement.exported', userId, account.id, { ...query, mode })
    return exportStatement(account, mode, query)
  },
})
