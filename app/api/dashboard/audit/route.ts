import { listAudit } from '#lib/audit/queries.ts'
import { AuditPage, auditQuery } from '#lib/audit/schema.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the audit log of the account',
  allow: 'audit:read',
  query: auditQuery,
  response: AuditPage,
  async handle({ account, query }) {
    return pageResult(await listAudit({ staff: false, accountId: account.id }, query))
  },
})
