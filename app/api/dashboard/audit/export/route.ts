import * as z from 'zod'
import { actorOf } from '#lib/audit/note.ts'
import { auditExportQuery, exportAudit } from '#lib/dashboard/audit-export.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Export who did what in the account, as CSV',
  allow: 'audit:read',
  query: auditExportQuery,
  answer: z.string(),
  handle: ({ account, userId, query }) =>
    exportAudit({ staff: false, accountId: account.id }, actorOf(userId).id, query),
})
