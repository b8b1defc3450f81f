import { personDoor } from '#lib/http/door.ts'
import { addPasskey } from '#lib/people/passkeys.ts'
import { newPasskey } from '#lib/people/schema.ts'
import { FactorAdded } from '#lib/people/wire.ts'

export const POST = personDoor({
  summary: 'Keep a passkey that the browser made',
  body: newPasskey,
  answer: FactorAdded,
  takesProof: true,
  async handle({ user, body }) {
    return { data: { recovery_codes: await addPasskey(user, body) } }
  },
})
