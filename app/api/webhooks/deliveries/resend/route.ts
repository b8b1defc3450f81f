import { endpoint } from '#lib/edge/http/endpoint.ts'
import { webhookOwner } from '#lib/edge/http/webhook-owner.ts'
import { countFailed, resendFailed } from '#lib/services/webhooks/resend.ts'
import { failedQuery, resendRequest } from '#lib/services/webhooks/schema.ts'
import { DeliveriesFailed, DeliveriesResent } from '#lib/services/webhooks/wire.ts'
import { resolveReference } from '#lib/views/dashboard/deliveries.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Count the failed deliveries that a resend would send',
  allow: 'webhooks:read',
  query: failedQuery,
  response: DeliveriesFailed,
  async handle({ account, mode, query }) {
    const filter = await resolveReference(account.id, mode, query)
    return { failed: await countFailed(account.id, mode, filter) }
  },
})

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Resend the failed deliveries of a period',
  allow: 'webhooks:write',
  proof: {
    notRequired: 'It sends stored events to their receivers again; a new URL requires a proof.',
  },
  body: resendRequest,
  response: DeliveriesResent,
  errorCodes: ['endpoint_not_found', 'endpoint_disabled'],
  idempotency: { retentionS: 86_400 },
  async handle(call) {
    const filter = await resolveReference(call.account.id, call.mode, call.body)
    return resendFailed(webhookOwner(call), filter)
  },
})
