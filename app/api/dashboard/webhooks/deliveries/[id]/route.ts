import { endpoint } from '#lib/http/endpoint.ts'
import { readDelivery } from '#lib/webhooks/delivery-queries.ts'
import { DeliveryRead } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  summary: 'Read a delivery with every try',
  allow: 'webhooks:read',
  answer: DeliveryRead,
  refuses: ['delivery_not_found'],
  async handle({ account, mode, params: { id = '' } }) {
    return { data: await readDelivery(account.id, mode, id) }
  },
})
