import * as z from 'zod'
import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { endOtherDevices, listDevices } from '#lib/services/people/devices.ts'
import { Device } from '#lib/services/people/schema.ts'

export const GET = userEndpoint({
  summary: 'List the sessions of the signed-in user',
  response: z.object({ data: z.array(Device) }),
  async handle({ user }) {
    return { data: await listDevices(user) }
  },
})

export const DELETE = userEndpoint({
  summary: 'Sign out all other devices',
  response: z.object({ data: z.object({ ended: z.number() }) }),
  async handle({ user }) {
    return { data: { ended: await endOtherDevices(user) } }
  },
})
