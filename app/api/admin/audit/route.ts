import { listAudit } from '#lib/base/audit/queries.ts'
import { AuditPage, staffAuditQuery } from '#lib/base/audit/schema.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'

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
