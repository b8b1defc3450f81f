import { userEndpoint } from '#lib/http/endpoint.ts'
import { addPasskey } from '#lib/people/passkeys.ts'
import { FactorAdded, newPasskey } from '#lib/people/schema.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Register a passkey',
  body: newPasskey,
  response: FactorAdded,
  proof: 'required',
  async handle({ user, body }) {
    return { data: { recovery_codes: await addPasskey(user, body) } }
  },
})
