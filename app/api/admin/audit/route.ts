import { listAudit } from '#lib/audit/queries.ts'
import { AuditPage, staffAuditQuery } from '#lib/audit/schema.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the audit log of the installation',
  query: staffAuditQuery,
  response: AuditPage,
  async handle({ query }) {
    return pageResult(await listAudit({ staff: true }, query))
  },
})
