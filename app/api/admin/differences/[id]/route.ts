import { refuse } from '#lib/core/errors.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readItem } from '#lib/operator/differences/evidence.ts'
import { DifferenceDetailRead } from '#lib/operator/differences/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a difference with the evidence of both sides',
  response: DifferenceDetailRead,
  errorCodes: ['item_not_found'],
  async handle({ params: { id = '' } }) {
    const data = await readItem(id)
    if (!data) throw refuse('item_not_found')
    return { data }
  },
})
