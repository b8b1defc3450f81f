import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import {
  createEndpoint,
  documentsNotHeld,
  listEndpoints,
  readCreatedEndpoint,
  tooManyEndpoints,
} from '#lib/webhooks/endpoints.ts'
import { endpointRequest } from '#lib/webhooks/schema.ts'
import { EndpointCreated, EndpointList } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'listEndpoints',
  summary: 'List endpoints',
  description: 'Returns all endpoints, with the success of their attempts, without secrets.',
  allow: 'webhooks:read',
  response: EndpointList,
  async handle({ account, mode }) {
    return { data: await listEndpoints(account.id, mode) }
  },
})

export const POST = endpoint({
  method: 'POST',
  operationId: 'createEndpoint',
  effect: 'receiver',
  summary: 'Create an endpoint',
  description:
    'Creates an endpoint, at most 10 per account and mode. It belongs to the account and stays when the token that created it ends. The response shows its secret, which can be read nowhere else later. Repeated within 24 hours with the same `Idempotency-Key` and token, the request returns the same secret; with another token it is refused.',
  allow: 'webhooks:write',
  proof: 'required',
  body: endpointRequest,
  response: EndpointCreated,
  errorExamples: [tooManyEndpoints(), documentsNotHeld()],
  // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
  idempotency: {
    retentionS: 86_400,
    showsSecret: true,
    rebuild: async ({ accountId, mode }, id) => ({
      data: await readCreatedEndpoint(accountId, mode, id),
    }),
  },
  async handle(call) {
    const { account, mode, body, once } = call
    const id = await createEndpoint(webhookOwner(call), body, once)
    return { data: await readCreatedEndpoint(account.id, mode, id) }
  },
})
