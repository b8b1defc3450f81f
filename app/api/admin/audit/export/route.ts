import * as z from 'zod'
import { adminDoor } from '#lib/edge/http/door.ts'
import { exportAudit, staffAuditExportQuery } from '#lib/views/dashboard/audit-export.ts'

export const GET = adminDoor({
  summary: 'Export the audit log of the installation as CSV',
  query: staffAuditExportQuery,
  answer: z.string(),
  handle: ({ user, query }) => exportAudit({ staff: true }, user.id, query),
})
