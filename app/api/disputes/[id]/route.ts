import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { findDispute } from '#lib/rooms/charges/disputes/records.ts'
import { DisputeRead } from '#lib/rooms/charges/disputes/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getDispute',
  summary: 'Read a dispute',
  description: 'Returns the dispute with its current status.',
  allow: 'transactions:read',
  hasEtag: true,
  response: DisputeRead,
  errorCodes: ['dispute_not_found'],
  allowsRememberedCaller: true,
  async handle({ account, mode, params }) {
    const dispute = await findDispute(account.ref, mode, params.id ?? '')
    if (!dispute) throw refuse('dispute_not_found')
    return { data: dispute }
  },
})
