import { personDoor } from '#lib/edge/http/door.ts'
import { beginPasskey } from '#lib/services/people/passkeys.ts'
import { PasskeyAsked } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Read the options for creating a passkey',
  answer: PasskeyAsked,
  refuses: ['limit_reached'],
  takesProof: true,
  async handle({ user, origin }) {
    return { data: await beginPasskey(user, origin) }
  },
})
