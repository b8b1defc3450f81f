import { endpoint } from '#lib/edge/http/endpoint.ts'
import { DeliveriesFailed } from '#lib/services/webhooks/delivery-wire.ts'
import { countFailed } from '#lib/services/webhooks/resend.ts'
import { failedQuery } from '#lib/services/webhooks/schema.ts'
import { resolveReference } from '#lib/views/dashboard/deliveries.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Count the failed deliveries that a resend would send',
  allow: 'dashboard:read',
  query: failedQuery,
  response: DeliveriesFailed,
  async handle({ account, mode, query }) {
    const filter = await resolveReference(account.id, mode, query)
    return { failed: await countFailed(account.id, mode, filter) }
  },
})
