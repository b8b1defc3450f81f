import { endpoint } from '#lib/http/endpoint.ts'
import { resendFailed } from '#lib/webhooks/resend.ts'
import { resendRequest } from '#lib/webhooks/schema.ts'
import { DeliveriesResent } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  summary: 'Send again what failed of all that was created in a period',
  allow: 'webhooks:write',
  body: resendRequest,
  answer: DeliveriesResent,
  refuses: ['endpoint_not_found', 'endpoint_disabled'],
  once: { keptS: 86_400 },
  handle({ account, mode, body }) {
    return resendFailed(account.id, mode, body)
  },
})
