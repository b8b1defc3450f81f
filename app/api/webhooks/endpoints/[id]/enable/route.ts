import { endpoint } from '#lib/edge/http/endpoint.ts'
import { webhookOwner } from '#lib/edge/http/webhook-owner.ts'
import { enableEndpoint } from '#lib/services/webhooks/enable.ts'
import { readEndpoint } from '#lib/services/webhooks/queries.ts'
import { enableRequest } from '#lib/services/webhooks/schema.ts'
import { EndpointEnabled } from '#lib/services/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'enableEndpoint',
  effect: 'none',
  summary: 'Enable an endpoint',
  description:
    'Sends the events missed since the endpoint began to fail, oldest first, unless `send_missed` is false.',
  allow: 'webhooks:write',
  proof: { notRequired: 'It sends events to the stored URL only; a new URL requires a proof.' },
  body: enableRequest,
  response: EndpointEnabled,
  errorCodes: ['endpoint_not_found'],
  idempotency: { retentionS: 86_400 },
  async handle(call) {
    const { account, mode, body } = call
    const { id = '' } = call.params
    const missed = await enableEndpoint(webhookOwner(call), id, body.send_missed)
    return { data: await readEndpoint(account.id, mode, id), missed }
  },
})
