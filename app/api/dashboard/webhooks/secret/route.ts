import { endpoint } from '#lib/http/endpoint.ts'
import { showSecret } from '#lib/webhooks/secrets.ts'
import { SecretShown } from '#lib/webhooks/wire.ts'

export const GET = endpoint({
  summary: 'Show the secret that signs the webhooks of charges and withdrawals',
  // Whoever knows it can forge a payment, so that it is not for those who may only read.
  allow: 'webhooks:write',
  answer: SecretShown,
  async handle({ account, mode }) {
    return { data: await showSecret({ accountId: account.id, mode, endpointId: null }) }
  },
})
