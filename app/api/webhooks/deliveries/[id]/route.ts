import { endpoint } from '#lib/edge/http/endpoint.ts'
import { readDelivery } from '#lib/services/webhooks/delivery-queries.ts'
import { DeliveryRead } from '#lib/services/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a delivery with its attempts',
  allow: 'webhooks:read',
  response: DeliveryRead,
  errorCodes: ['delivery_not_found'],
  async handle({ account, mode, params: { id = '' } }) {
    return { data: await readDelivery(account.id, mode, id) }
  },
})
