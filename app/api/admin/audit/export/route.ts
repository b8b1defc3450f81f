import * as z from 'zod'
import { exportAudit, staffAuditExportQuery } from '#lib/dashboard/audit-export.ts'
import { adminDoor } from '#lib/http/door.ts'

export const GET = adminDoor({
  summary: 'Export who did what, as CSV',
  query: staffAuditExportQuery,
  answer: z.string(),
  handle: ({ user, query }) => exportAudit({ staff: true }, user.id, query),
})
