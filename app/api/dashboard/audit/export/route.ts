import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { auditExportQuery, exportAudit } from '#lib/dashboard/audit.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
