import { notesOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pauseEndpoint } from '#lib/webhooks/enable.ts'
import { readEndpoint } from '#lib/webhooks/queries.ts'
import { EndpointRead } from '#lib/webhooks/wire.ts'

export const POST = endpoint({
  summary: 'Disable an endpoint: what comes for it waits',
  allow: 'webhooks:write',
  answer: EndpointRead,
  refuses: ['endpoint_not_found'],
  once: { keptS: 86_400 },
  async handle({ account, mode, params: { id = '' }, userId }) {
    const owner = { accountId: account.id, mode, note: notesOf(account.id, userId) }
    await pauseEndpoint(owner, id)
    return { data: await readEndpoint(account.id, mode, id) }
  },
})
