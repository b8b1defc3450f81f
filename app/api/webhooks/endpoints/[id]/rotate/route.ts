import { endpoint } from '#lib/edge/http/endpoint.ts'
import { webhookOwner } from '#lib/edge/http/webhook-owner.ts'
import { readCreatedSecret, rotateSecret } from '#lib/services/webhooks/secrets.ts'
import { SecretShown } from '#lib/services/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Rotate the secret of an endpoint',
  allow: 'webhooks:write',
  proof: 'required',
  response: SecretShown,
  errorCodes: ['endpoint_not_found', 'limit_reached'],
  // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
  idempotency: {
    retentionS: 86_400,
    rebuild: async ({ account, mode }, id) => ({
      data: await readCreatedSecret(account, mode, id),
    }),
  },
  async handle(call) {
    const { id = '' } = call.params
    return { data: await rotateSecret(webhookOwner(call), id, call.once) }
  },
})
