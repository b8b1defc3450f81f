import * as z from 'zod'
import { personDoor } from '#lib/edge/http/door.ts'
import { endDevice } from '#lib/services/people/devices.ts'

export const DELETE = personDoor({
  summary: 'Sign out one device',
  answer: z.object({ data: z.object({}) }),
  refuses: ['session_not_found'],
  async handle({ user, params }) {
    await endDevice(user, params.id ?? '')
    return { data: {} }
  },
})
