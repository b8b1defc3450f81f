import { personDoor } from '#lib/edge/http/door.ts'
import { askPasskey } from '#lib/services/people/passkeys.ts'
import { PasskeyAsked } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Be asked for a passkey of one’s own',
  answer: PasskeyAsked,
  async handle({ user, origin }) {
    return { data: await askPasskey(origin, user.id) }
  },
})
