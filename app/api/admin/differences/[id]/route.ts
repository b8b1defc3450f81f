import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireItem } from '#lib/operator/differences/evidence.ts'
import { DifferenceDetailRead } from '#lib/operator/differences/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a difference with the evidence of both sides',
  response: DifferenceDetailRead,
  errorCodes: ['item_not_found'],
  async handle({ user, params: { id = '' } }) {
    return { data: await requireItem(id, user.id) }
  },
})
