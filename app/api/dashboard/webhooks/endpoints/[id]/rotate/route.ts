import { createAuditNote } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { recallSecret, rotateSecret } from '#lib/services/webhooks/secrets.ts'
import { SecretShown } from '#lib/services/webhooks/wire.ts'

export const POST = endpoint({
  summary: 'Rotate the secret of an endpoint',
  allow: 'webhooks:write',
  takesProof: true,
  answer: SecretShown,
  refuses: ['endpoint_not_found', 'limit_reached'],
  // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
  once: {
    keptS: 86_400,
    recall: async ({ account, mode }, id) => ({ data: await recallSecret(account, mode, id) }),
  },
  async handle({ account, mode, params: { id = '' }, userId, once }) {
    const owner = { accountId: account.id, mode, note: createAuditNote(account.id, userId) }
    return { data: await rotateSecret(owner, id, once) }
  },
})
