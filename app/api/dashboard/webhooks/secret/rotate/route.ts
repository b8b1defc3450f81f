import { createAuditNote } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { readCreatedSecret, rotateSecret } from '#lib/webhooks/secrets.ts'
import { SecretShown } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Rotate the secret that signs the webhooks of charges and withdrawals',
  allow: 'secrets:write',
  proof: 'required',
  response: SecretShown,
  errorCodes: ['limit_reached'],
  // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
  idempotency: {
    retentionS: 86_400,
    rebuild: async ({ accountId, mode }, id) => ({
      data: await readCreatedSecret(accountId, mode, id),
    }),
  },
  async handle({ account, mode, userId, once }) {
    const owner = { accountId: account.id, mode, note: createAuditNote(account.id, userId) }
    return { data: await rotateSecret(owner, null, once) }
  },
})
