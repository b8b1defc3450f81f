import { endpoint } from '#lib/edge/http/endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'
import { listRefunds } from '#lib/rooms/charges/refunds/queries.ts'
import { refundsQuery } from '#lib/rooms/charges/refunds/schema.ts'
import { RefundPage } from '#lib/rooms/charges/refunds/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'listAllRefunds',
  isCompressible: true,
  summary: 'List the refunds of all charges',
  description: 'Returns refunds of every status, newest first. `transaction_id` names the charge.',
  allow: 'transactions:read',
  query: refundsQuery,
  response: RefundPage,
  allowsRememberedCaller: true,
  async handle({ account, mode, query }) {
    return pageResult(await listRefunds(account.ref, mode, null, query))
  },
})
