import { findDispute, listDisputes } from '#lib/charges/disputes/dispute.ts'
import { DisputePage, DisputeRead, disputesQuery } from '#lib/charges/disputes/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET } = endpoints({
  'GET /disputes': endpoint({
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
  }),
  'GET /disputes/[id]': endpoint({
    method: 'GET',
    operationId: 'getDispute',
    summary: 'Read a dispute',
    description: 'Returns the dispute with its current status.',
    allow: 'transactions:read',
    hasEtag: true,
    response: DisputeRead,
    errorCodes: ['dispute_not_found'],
    async handle({ account, mode, params }) {
      const dispute = await findDispute(account.id, mode, params.id ?? '')
      if (!dispute) throw refuse('dispute_not_found')
      return { data: dispute }
    },
  }),
})
