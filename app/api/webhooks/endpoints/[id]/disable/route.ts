import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pauseEndpoint, readEndpoint } from '#lib/webhooks/endpoints.ts'
import { noFields } from '#lib/webhooks/schema.ts'
import { EndpointRead } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'disableEndpoint',
  effect: 'none',
  summary: 'Disable an endpoint',
  description: 'Its deliveries wait, and are not sent until it is enabled.',
  allow: 'webhooks:write',
  proof: {
    notRequired: 'It sends no data anywhere; the deliveries wait until the endpoint is enabled.',
  },
  body: noFields,
  response: EndpointRead,
  errorCodes: ['endpoint_not_found'],
  idempotency: { retentionS: 86_400 },
  async handle(call) {
    const { account, mode } = call
    const { id = '' } = call.params
    await pauseEndpoint(webhookOwner(call), id)
    return { data: await readEndpoint(account.id, mode, id) }
  },
})
