import * as z from 'zod'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { Device } from '#lib/people/schema.ts'
import { endOtherDevices, listDevices } from '#lib/people/sessions.ts'

export const GET = userEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the sessions of the signed-in user',
  response: z.object({ data: z.array(Device) }),
  async handle({ user }) {
    return { data: await listDevices(user) }
  },
})

export const DELETE = userEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Sign out all other devices',
  response: z.object({ data: z.object({ ended: z.number() }) }),
  proof: {
    notRequired: 'It only ends access: a user with a lost device must be able to act at once.',
  },
  async handle({ user, rememberDevice }) {
    const ended = await endOtherDevices(user)
    rememberDevice(user.id)
    return { data: { ended } }
  },
})
