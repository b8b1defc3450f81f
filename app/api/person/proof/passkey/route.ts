import { personDoor } from '#lib/http/door.ts'
import { askPasskey } from '#lib/people/passkeys.ts'
import { PasskeyAsked } from '#lib/people/wire.ts'

export const POST = personDoor({
  summary: 'Be asked for a passkey of one’s own',
  answer: PasskeyAsked,
  async handle({ user, origin }) {
    return { data: await askPasskey(origin, user.id) }
  },
})
