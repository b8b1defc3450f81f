import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { Profile, profileChange } from '#lib/people/schema.ts'
import { updateProfile } from '#lib/people/users.ts'

export const PATCH = endpoint({
  method: 'PATCH',
  effect: 'none',
  summary: 'Change the own name, language and theme',
  allow: 'profile:write',
  proof: { notRequired: 'It changes the user’s own name, language and theme, and no access.' },
  body: profileChange,
  response: Profile,
  async handle({ body, userId }) {
    return { data: await updateProfile(requireActor(userId), body) }
  },
})
