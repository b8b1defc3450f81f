import { listRefunds } from '#lib/charges/refunds/refund.ts'
import { refundsQuery } from '#lib/charges/refunds/schema.ts'
import { RefundPage } from '#lib/charges/refunds/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /refunds': endpoint({
    method: 'GET',
    operationId: 'listAllRefunds',
    isCompressible: true,
    summary: 'List the refunds of all charges',
    description:
      'Returns refunds of every status, newest first. `transaction_id` names the charge.',
    allow: 'transactions:read',
    query: refundsQuery,
    response: RefundPage,
    async handle({ account, mode, query }) {
      return pageResult(await listRefunds(account.id, mode, null, query))
    },
  }),
})
