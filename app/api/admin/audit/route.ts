import { listAudit } from '#lib/audit/queries.ts'
import { AuditPage, staffAuditQuery } from '#lib/audit/wire.ts'
import { adminDoor } from '#lib/http/door.ts'

export const GET = adminDoor({
  summary: 'Who did what in this installation',
  query: staffAuditQuery,
  answer: AuditPage,
  async handle({ query }) {
    const { rows, nextCursor } = await listAudit({ staff: true }, query)
    return { data: rows, next_cursor: nextCursor }
  },
})
