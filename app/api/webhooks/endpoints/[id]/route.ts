import { endpoint } from '#lib/edge/http/endpoint.ts'
import { webhookOwner } from '#lib/edge/http/webhook-owner.ts'
import { deleteEndpoint, editEndpoint } from '#lib/services/webhooks/endpoints.ts'
import { readEndpoint } from '#lib/services/webhooks/queries.ts'
import { endpointChange } from '#lib/services/webhooks/schema.ts'
import { EndpointDeleted, EndpointRead } from '#lib/services/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read an endpoint',
  allow: 'webhooks:read',
  response: EndpointRead,
  errorCodes: ['endpoint_not_found'],
  async handle({ account, mode, params: { id = '' } }) {
    return { data: await readEndpoint(account.id, mode, id) }
  },
})

export const PATCH = endpoint({
  method: 'PATCH',
  effect: 'receiver',
  summary: 'Change the URL, the event types or the documents of an endpoint',
  allow: 'webhooks:write',
  proof: 'required',
  body: endpointChange,
  response: EndpointRead,
  errorCodes: ['endpoint_not_found', 'permission_not_held'],
  async handle(call) {
    const { account, mode, body } = call
    const { id = '' } = call.params
    await editEndpoint(webhookOwner(call), id, body)
    return { data: await readEndpoint(account.id, mode, id) }
  },
})

export const DELETE = endpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Delete an endpoint',
  allow: 'webhooks:write',
  proof: { notRequired: 'It sends no data anywhere; the events stay readable through the API.' },
  response: EndpointDeleted,
  errorCodes: ['endpoint_not_found'],
  async handle(call) {
    const { id = '' } = call.params
    await deleteEndpoint(webhookOwner(call), id)
    return { data: { id, deleted: true } }
  },
})
