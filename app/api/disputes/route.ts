import { endpoint } from '#lib/edge/http/endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'
import { listDisputes } from '#lib/rooms/charges/disputes/records.ts'
import { DisputePage, disputesQuery } from '#lib/rooms/charges/disputes/wire.ts'

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
  allowsRememberedCaller: true,
  async handle({ account, mode, query }) {
    return pageResult(await listDisputes(account.ref, mode, query))
  },
})
