import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { noFields } from '#lib/webhooks/schema.ts'
import { readCreatedSecret, rotateSecret, tooManySecrets } from '#lib/webhooks/secrets.ts'
import { SecretShown } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'rotateEndpointSecret',
  effect: 'none',
  summary: 'Rotate the secret of an endpoint',
  description:
    'Returns a new secret, which can be read nowhere else later. For 24 hours the previous one signs, too, so that no webhook is lost. At most 10 secrets sign at the same time. Repeated with the same `Idempotency-Key` and token, the request returns the same secret; with another token it is refused.',
  allow: 'webhooks:write',
  proof: 'required',
  body: noFields,
  response: SecretShown,
  errorCodes: ['endpoint_not_found'],
  errorExamples: [tooManySecrets()],
  // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
  idempotency: {
    retentionS: 86_400,
    showsSecret: true,
    rebuild: async ({ accountId, mode }, id) => ({
      data: await readCreatedSecret(accountId, mode, id),
    }),
  },
  async handle(call) {
    const { id = '' } = call.params
    return { data: await rotateSecret(webhookOwner(call), id, call.once) }
  },
})
