import { resolveReference } from '#lib/dashboard/deliveries.ts'
import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { resendFailed } from '#lib/webhooks/resend.ts'
import { resendRequest } from '#lib/webhooks/schema.ts'
import { DeliveriesResent } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'resendFailedDeliveries',
  effect: 'none',
  summary: 'Resend failed deliveries',
  description:
    'Sends again what failed or was stopped in a period of at most 14 days, except to disabled and deleted endpoints. One request sends at most 20,000: repeat it while `more` is true.',
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
