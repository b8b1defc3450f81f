import { visitorEndpoint } from '#lib/http/endpoint.ts'
import { readChallenge } from '#lib/people/challenge.ts'
import { beginPasskeyAuthentication } from '#lib/people/passkeys.ts'
import { PasskeyOptions, passkeyOptionsRequest } from '#lib/people/schema.ts'

export const POST = visitorEndpoint({
  effect: 'none',
  summary: 'Read the options for signing in with a passkey',
  body: passkeyOptionsRequest,
  response: PasskeyOptions,
  async handle({ body, origin }) {
    const { challenge } = body
    const stored = challenge ? await readChallenge('second_factor', challenge) : null
    return { data: await beginPasskeyAuthentication(origin, stored?.userId ?? null) }
  },
})
