import { listAudit } from '#lib/base/audit/queries.ts'
import { AuditPage, auditQuery } from '#lib/base/audit/schema.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'

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
