import * as z from 'zod'
import { requestLive } from '#lib/accounts/connections.ts'
import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'

const LiveRequested = z.object({ data: z.object({ requested: z.literal(true) }) })

export const POST = endpoint({
  method: 'POST',
  summary: 'Ask the operator for live mode',
  allow: 'settings:write',
  proof: { notRequired: 'It only adds the account to what the operator decides.' },
  effect: 'none',
  response: LiveRequested,
  idempotency: { retentionS: 86_400 },
  async handle({ account, userId }) {
    await requestLive(account.id, requireActor(userId))
    return { data: { requested: true } }
  },
})
