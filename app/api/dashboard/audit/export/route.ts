import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { auditExportQuery, exportAudit } from '#lib/views/dashboard/audit-export.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the audit log of the account as CSV',
  allow: 'audit:read',
  proof: 'required',
  query: auditExportQuery,
  response: z.string(),
  isExport: true,
  handle: ({ account, userId, query }) =>
    exportAudit({ staff: false, accountId: account.id }, requireActor(userId).id, query),
})
