import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readDelivery } from '#lib/webhooks/deliveries.ts'
import { resendDelivery } from '#lib/webhooks/resend.ts'
import { noFields } from '#lib/webhooks/schema.ts'
import { DeliveryResent } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'resendDelivery',
  effect: 'none',
  summary: 'Resend a delivery',
  description:
    'Sends the event again at once, with the same body and `webhook-id`, and with new attempts. A delivery that succeeded can be sent again, too.',
  allow: 'webhooks:write',
  proof: {
    notRequired: 'It sends a stored event to its receiver again; a new URL requires a proof.',
  },
  body: noFields,
  response: DeliveryResent,
  errorCodes: ['delivery_not_found', 'endpoint_disabled', 'under_way'],
  idempotency: { retentionS: 86_400 },
  async handle(call) {
    const { account, mode } = call
    const { id = '' } = call.params
    await resendDelivery(webhookOwner(call), id, call.once?.isResumed)
    // Without the attempts: their bodies would be stored with the idempotency key.
    const delivery = await readDelivery(account.id, mode, id)
    const { attempts: _, later_pauses_s: __, is_masked: ___, ...data } = delivery
    return { data }
  },
})
