import * as z from 'zod'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { endDevice } from '#lib/people/sessions.ts'

export const DELETE = userEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Sign out one device',
  response: z.object({ data: z.object({}) }),
  errorCodes: ['session_not_found'],
  proof: {
    notRequired: 'It only ends access: a user with a lost device must be able to act at once.',
  },
  async handle({ user, params }) {
    await endDevice(user, params.id ?? '')
    return { data: {} }
  },
})
