import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { beginTry } from '#lib/services/tries/begin.ts'
import { readTry } from '#lib/services/tries/queries.ts'
import { BeginTry, TryRead } from '#lib/services/tries/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Read the latest try of a connection to a bank',
  response: TryRead,
  errorCodes: ['connection_not_found'],
  handle: async ({ params: { id = '' } }) => ({ data: await readTry(id) }),
})

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Begin a try of a connection to a bank, or go on with the one under way',
  body: BeginTry,
  response: TryRead,
  errorCodes: ['connection_not_found', 'under_way', 'already_final'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const actor = requireActor(user.id)
    await beginTry({ connectionId: id, pixKey: body.pix_key, isAgain: true, actor })
    return { data: await readTry(id) }
  },
})
