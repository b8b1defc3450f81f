import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { BeginTrial, TrialRead } from '#lib/trials/schema.ts'
import { beginTrial, readTrial } from '#lib/trials/trial.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Read the latest trial of a connection to a bank',
  response: TrialRead,
  errorCodes: ['connection_not_found'],
  handle: async ({ params: { id = '' } }) => ({ data: await readTrial(id) }),
})

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Begin a trial of a connection to a bank, or go on with the one under way',
  body: BeginTrial,
  response: TrialRead,
  errorCodes: ['connection_not_found', 'under_way', 'already_final', 'service_unavailable'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const actor = requireActor(user.id)
    await beginTrial({ connectionId: id, pixKey: body.pix_key, actor })
    return { data: await readTrial(id) }
  },
})
