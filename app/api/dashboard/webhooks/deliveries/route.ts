import { listDeliveriesOf } from '#lib/dashboard/deliveries.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { deliveriesQuery } from '#lib/webhooks/schema.ts'
import { DeliveryPage } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  summary: 'List deliveries to every receiver, newest first',
  allow: 'webhooks:read',
  query: deliveriesQuery,
  answer: DeliveryPage,
  async handle({ account, mode, query }) {
    const { rows, nextCursor } = await listDeliveriesOf(account.id, mode, query)
    return { data: rows, next_cursor: nextCursor }
  },
})
