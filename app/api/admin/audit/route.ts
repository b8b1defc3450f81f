import { listAudit } from '#lib/base/audit/queries.ts'
import { AuditPage, staffAuditQuery } from '#lib/base/audit/schema.ts'
import { adminDoor } from '#lib/edge/http/door.ts'

export const GET = adminDoor({
  summary: 'List the audit log of the installation',
  query: staffAuditQuery,
  answer: AuditPage,
  async handle({ query }) {
    const { rows, nextCursor } = await listAudit({ staff: true }, query)
    return { data: rows, next_cursor: nextCursor }
  },
})
