import { resolveReference } from '#lib/dashboard/deliveries.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { countFailed } from '#lib/webhooks/resend.ts'
import { failedQuery } from '#lib/webhooks/schema.ts'
import { DeliveriesFailed } from '#lib/webhooks/wire.ts'

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
