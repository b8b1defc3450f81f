import { createAuditNote } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { showSecret } from '#lib/webhooks/secrets.ts'
import { SecretShown } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Show the secret that signs the webhooks of charges and withdrawals',
  // Requires write permission: the secret is enough to forge a payment notification.
  allow: 'secrets:write',
  proof: 'required',
  response: SecretShown,
  async handle({ account, mode, userId }) {
    const owner = { accountId: account.id, mode, note: createAuditNote(account.id, userId) }
    return { data: await showSecret(owner) }
  },
})
