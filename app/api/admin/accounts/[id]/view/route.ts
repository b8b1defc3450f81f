import * as z from 'zod'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { beginViewing } from '#lib/people/sessions.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'View the dashboard of an account read-only for 30 minutes',
  body: reasonRequest,
  response: z.object({ data: z.object({ until: z.iso.datetime() }) }),
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const viewer = { userId: user.id, sessionId: user.sessionId }
    const until = await beginViewing(viewer, id, body.reason)
    return { data: { until: until.toISOString() } }
  },
})
