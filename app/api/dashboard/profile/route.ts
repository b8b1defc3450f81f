import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { profileChange } from '#lib/people/schema.ts'
import { updateProfile } from '#lib/people/update.ts'
import { Profile } from '#lib/people/wire.ts'

export const PATCH = endpoint({
  summary: 'Change what the member who asks is called, reads and sees',
  allow: 'profile:write',
  body: profileChange,
  answer: Profile,
  async handle({ body, userId }) {
    return { data: await updateProfile(actorOf(userId), body) }
  },
})
