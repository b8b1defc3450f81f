import { personDoor } from '#lib/edge/http/door.ts'
import { beginPasskeyRegistration } from '#lib/services/people/passkeys.ts'
import { PasskeyOptions } from '#lib/services/people/wire.ts'

export const POST = personDoor({
  summary: 'Read the options for creating a passkey',
  answer: PasskeyOptions,
  refuses: ['limit_reached'],
  takesProof: true,
  async handle({ user, origin }) {
    return { data: await beginPasskeyRegistration(user, origin) }
  },
})
