import { createAuditNote } from '#lib/audit/record.ts'
import { resolveReference } from '#lib/dashboard/deliveries.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { countFailed, revealDelivery } from '#lib/webhooks/deliveries.ts'
import { failedQuery } from '#lib/webhooks/schema.ts'
import { readCreatedSecret, rotateSecret, showSecret } from '#lib/webhooks/secrets.ts'
import { DeliveriesFailed, DeliveryRead, SecretShown } from '#lib/webhooks/wire.ts'

export const { GET, POST } = endpoints({
  'POST /dashboard/webhooks/deliveries/[id]/document': endpoint({
    method: 'POST',
    effect: 'document',
    summary: 'Reveal a delivery as it was sent and answered, recorded in the audit log',
    allow: 'documents:reveal',
    proof: 'required',
    response: DeliveryRead,
    errorCodes: ['delivery_not_found'],
    async handle({ account, mode, userId, params: { id = '' } }) {
      const note = createAuditNote(account.id, userId)
      return { data: await revealDelivery({ accountId: account.id, mode, note }, id) }
    },
  }),
  'GET /dashboard/webhooks/deliveries/resend': endpoint({
    method: 'GET',
    summary: 'Count the failed deliveries that a resend would send',
    allow: 'dashboard:read',
    query: failedQuery,
    response: DeliveriesFailed,
    async handle({ account, mode, query }) {
      const filter = await resolveReference(account.id, mode, query)
      return { failed: await countFailed(account.id, mode, filter) }
    },
  }),
  'GET /dashboard/webhooks/secret': endpoint({
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
  }),
  'POST /dashboard/webhooks/secret/rotate': endpoint({
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
  }),
})
