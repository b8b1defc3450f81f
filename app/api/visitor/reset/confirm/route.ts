import * as z from 'zod'
import { visitorDoor } from '#lib/edge/http/door.ts'
import { confirmReset } from '#lib/services/people/reset.ts'
import { resetConfirmation } from '#lib/services/people/schema.ts'

export const POST = visitorDoor({
  summary: 'Set a new password with a reset link',
  body: resetConfirmation,
  answer: z.object({ data: z.object({}) }),
  refuses: ['link_expired'],
  async handle({ body }) {
    await confirmReset(body)
    return { data: {} }
  },
})
