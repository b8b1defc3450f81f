import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import {
  deleteEndpoint,
  documentsNotHeld,
  editEndpoint,
  readEndpoint,
} from '#lib/webhooks/endpoints.ts'
import { endpointChange } from '#lib/webhooks/schema.ts'
import { EndpointDeleted, EndpointRead } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getEndpoint',
  hasEtag: true,
  summary: 'Read an endpoint',
  description: 'Returns the endpoint without its secret.',
  allow: 'webhooks:read',
  response: EndpointRead,
  errorCodes: ['endpoint_not_found'],
  async handle({ account, mode, params: { id = '' } }) {
    return { data: await readEndpoint(account.id, mode, id) }
  },
})

export const PATCH = endpoint({
  method: 'PATCH',
  operationId: 'updateEndpoint',
  effect: 'receiver',
  summary: 'Change an endpoint',
  description:
    'Fields that are left out stay as they are. Waiting deliveries go to a new URL, with CPFs and CNPJs masked if the caller lacks `payers:read`.',
  allow: 'webhooks:write',
  proof: 'required',
  body: endpointChange,
  response: EndpointRead,
  errorCodes: ['endpoint_not_found'],
  errorExamples: [documentsNotHeld()],
  async handle(call) {
    const { account, mode, body } = call
    const { id = '' } = call.params
    await editEndpoint(webhookOwner(call), id, body)
    return { data: await readEndpoint(account.id, mode, id) }
  },
})

export const DELETE = endpoint({
  method: 'DELETE',
  operationId: 'deleteEndpoint',
  effect: 'none',
  summary: 'Delete an endpoint',
  description:
    'Its waiting deliveries are stopped. The events stay readable through `GET /events`.',
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
