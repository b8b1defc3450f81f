import { visitorDoor } from '#lib/edge/http/door.ts'
import { readChallenge } from '#lib/services/people/challenge.ts'
import { askPasskey } from '#lib/services/people/passkeys.ts'
import { passkeyAsk } from '#lib/services/people/schema.ts'
import { PasskeyAsked } from '#lib/services/people/wire.ts'

export const POST = visitorDoor({
  summary: 'Read the options for signing in with a passkey',
  body: passkeyAsk,
  answer: PasskeyAsked,
  async handle({ body, origin }) {
    const { challenge } = body
    const asked = challenge ? await readChallenge('second_factor', challenge) : null
    return { data: await askPasskey(origin, asked?.userId ?? null) }
  },
})
