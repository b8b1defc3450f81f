import { personDoor } from '#lib/edge/http/door.ts'
import { askPasskey } from '#lib/services/people/passkeys.ts'
import { PasskeyAsked } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Read the options for confirming the identity with a passkey',
  answer: PasskeyAsked,
  async handle({ user, origin }) {
    return { data: await askPasskey(origin, user.id) }
  },
})
