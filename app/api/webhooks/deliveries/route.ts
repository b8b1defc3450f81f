import { listDeliveriesByReference } from '#lib/dashboard/deliveries.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { deliveriesQuery } from '#lib/webhooks/schema.ts'
import { DeliveryPage } from '#lib/webhooks/wire.ts'

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
