import { userEndpoint } from '#lib/http/endpoint.ts'
import { beginPasskeyRegistration } from '#lib/people/passkeys.ts'
import { PasskeyOptions } from '#lib/people/schema.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Read the options for creating a passkey',
  response: PasskeyOptions,
  errorCodes: ['limit_reached'],
  proof: 'required',
  async handle({ user, origin }) {
    return { data: await beginPasskeyRegistration(user, origin) }
  },
})
