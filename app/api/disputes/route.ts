import { listDisputes } from '#lib/charges/disputes/dispute.ts'
import { DisputePage, disputesQuery } from '#lib/charges/disputes/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'listDisputes',
  isCompressible: true,
  summary: 'List disputes',
  description:
    'Returns the disputes of all charges, of every status, newest first. The events `transaction.dispute_opened` and `transaction.dispute_closed` report them.',
  allow: 'transactions:read',
  query: disputesQuery,
  response: DisputePage,
  async handle({ account, mode, query }) {
    return pageResult(await listDisputes(account.id, mode, query))
  },
})
