import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { enableEndpoint, readEndpoint } from '#lib/webhooks/endpoints.ts'
import { enableRequest } from '#lib/webhooks/schema.ts'
import { EndpointEnabled } from '#lib/webhooks/wire.ts'

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
