import { endpoint } from '#lib/edge/http/endpoint.ts'
import { deliveriesQuery } from '#lib/services/webhooks/schema.ts'
import { DeliveryPage } from '#lib/services/webhooks/wire.ts'
import { listDeliveriesOf } from '#lib/views/dashboard/deliveries.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'List deliveries, newest first',
  allow: 'webhooks:read',
  query: deliveriesQuery,
  response: DeliveryPage,
  async handle({ account, mode, query }) {
    const { rows, nextCursor } = await listDeliveriesOf(account.id, mode, query)
    return { data: rows, next_cursor: nextCursor }
  },
})
