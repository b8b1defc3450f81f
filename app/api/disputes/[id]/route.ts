import { findDispute } from '#lib/charges/disputes/dispute.ts'
import { DisputeRead } from '#lib/charges/disputes/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
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
})
