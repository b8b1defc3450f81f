import { userEndpoint } from '#lib/http/endpoint.ts'
import { beginPasskeyAuthentication } from '#lib/people/passkeys.ts'
import { PasskeyOptions } from '#lib/people/schema.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Read the options for confirming the identity with a passkey',
  response: PasskeyOptions,
  proof: { notRequired: 'This request begins a proof.' },
  async handle({ user, origin }) {
    return { data: await beginPasskeyAuthentication(origin, user.id) }
  },
})
