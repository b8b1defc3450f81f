import * as z from 'zod'
import { visitorDoor } from '#lib/edge/http/door.ts'
import { requestReset } from '#lib/services/people/reset.ts'
import { resetRequest } from '#lib/services/people/schema.ts'

export const POST = visitorDoor({
  summary: 'Request a password reset link',
  body: resetRequest,
  answer: z.object({ data: z.object({}) }),
  refuses: ['too_many_requests'],
  async handle({ body, ip }) {
    await requestReset(body.email, ip)
    return { data: {} }
  },
})
