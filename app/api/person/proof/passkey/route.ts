import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { beginPasskeyAuthentication } from '#lib/services/people/passkeys.ts'
import { PasskeyOptions } from '#lib/services/people/wire.ts'

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
