import * as z from 'zod'
import { personDoor } from '#lib/edge/http/door.ts'
import { endOtherDevices, listDevices } from '#lib/services/people/devices.ts'
import { Device } from '#lib/services/people/schema.ts'

export const GET = personDoor({
  summary: 'List the sessions of the signed-in user',
  answer: z.object({ data: z.array(Device) }),
  async handle({ user }) {
    return { data: await listDevices(user) }
  },
})

export const DELETE = personDoor({
  summary: 'Sign out all other devices',
  answer: z.object({ data: z.object({ ended: z.number() }) }),
  async handle({ user }) {
    return { data: { ended: await endOtherDevices(user) } }
  },
})
