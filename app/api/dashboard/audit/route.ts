import { listAudit } from '#lib/base/audit/queries.ts'
import { AuditPage, auditQuery } from '#lib/base/audit/schema.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'List the audit log of the account',
  allow: 'audit:read',
  query: auditQuery,
  response: AuditPage,
  async handle({ account, query }) {
    const { rows, nextCursor } = await listAudit({ staff: false, accountId: account.id }, query)
    return { data: rows, next_cursor: nextCursor }
  },
})
