import { personDoor } from '#lib/edge/http/door.ts'
import { beginPasskey } from '#lib/services/people/passkeys.ts'
import { PasskeyAsked } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Begin with a passkey: what the browser needs to make it',
  answer: PasskeyAsked,
  refuses: ['limit_reached'],
  takesProof: true,
  async handle({ user, origin }) {
    return { data: await beginPasskey(user, origin) }
  },
})
