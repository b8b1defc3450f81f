import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { endViewing } from '#lib/people/sessions.ts'

export const DELETE = userEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'End the viewing of an account',
  response: EmptyResponse,
  proof: { notRequired: 'It only takes access to an account away.' },
  async handle({ user }) {
    await endViewing({ userId: user.id, sessionId: user.sessionId })
    return { data: {} }
  },
})
