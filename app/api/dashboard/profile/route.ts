import { profileChange } from '#lib/accounts/schema.ts'
import { updateProfile } from '#lib/accounts/update.ts'
import { Profile } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PATCH = endpoint({
  summary: 'Change what the member who asks is called, reads and sees',
  allow: 'profile:write',
  body: profileChange,
  answer: Profile,
  async handle({ body, userId }) {
    return { data: await updateProfile(actorOf(userId), body) }
  },
})
