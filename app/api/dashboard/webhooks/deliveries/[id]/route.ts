import { endpoint } from '#lib/http/endpoint.ts'
import { may } from '#lib/session/roles.ts'
import { readDelivery, readDeliveryMasked } from '#lib/webhooks/delivery-queries.ts'
import { DeliveryRead } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  summary: 'Read a delivery with every try',
  allow: 'webhooks:read',
  answer: DeliveryRead,
  refuses: ['delivery_not_found'],
  async handle({ account, mode, params: { id = '' } }) {
    const isBuilder = account.role !== null && may(account.role, 'webhooks:write')
    const read = isBuilder ? readDelivery : readDeliveryMasked
    return { data: await read(account.id, mode, id) }
  },
})
