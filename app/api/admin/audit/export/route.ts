import * as z from 'zod'
import { exportAudit, staffAuditExportQuery } from '#lib/dashboard/audit.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Export the audit log of the installation as CSV',
  proof: 'required',
  query: staffAuditExportQuery,
  response: z.string(),
  handle: ({ user, query }) => exportAudit({ staff: true }, user.id, query),
})
