import { endpoint } from '#lib/edge/http/endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'
import { DeliveryPage } from '#lib/services/webhooks/delivery-wire.ts'
import { deliveriesQuery } from '#lib/services/webhooks/schema.ts'
import { listDeliveriesByReference } from '#lib/views/dashboard/deliveries.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'listDeliveries',
  isCompressible: true,
  summary: 'List deliveries',
  description: 'Returns the deliveries of the last 90 days, newest first.',
  allow: 'webhooks:read',
  query: deliveriesQuery,
  response: DeliveryPage,
  async handle({ account, mode, query }) {
    return pageResult(await listDeliveriesByReference(account.id, mode, query))
  },
})
