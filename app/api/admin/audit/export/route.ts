import * as z from 'zod'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { exportAudit, staffAuditExportQuery } from '#lib/views/dashboard/audit-export.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Export the audit log of the installation as CSV',
  proof: 'required',
  query: staffAuditExportQuery,
  response: z.string(),
  handle: ({ user, query }) => exportAudit({ staff: true }, user.id, query),
})
