import { createAuditNote } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { enableEndpoint } from '#lib/services/webhooks/enable.ts'
import { readEndpoint } from '#lib/services/webhooks/queries.ts'
import { enableRequest } from '#lib/services/webhooks/schema.ts'
import { EndpointEnabled } from '#lib/services/webhooks/wire.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Enable an endpoint and, unless declined, send the missed events',
  allow: 'webhooks:write',
  proof: { notRequired: 'It sends events to the stored URL only; a new URL requires a proof.' },
  body: enableRequest,
  response: EndpointEnabled,
  errorCodes: ['endpoint_not_found'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params: { id = '' }, userId }) {
    const owner = { accountId: account.id, mode, note: createAuditNote(account.id, userId) }
    const missed = await enableEndpoint(owner, id, body.send_missed)
    return { data: await readEndpoint(account.id, mode, id), missed }
  },
})
