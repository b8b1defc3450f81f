import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { beginAuthenticator, removeAuthenticator } from '#lib/people/factors.ts'
import { AuthenticatorSecret } from '#lib/people/schema.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Start to set up an authenticator app and show its secret once',
  response: AuthenticatorSecret,
  errorCodes: ['limit_reached'],
  proof: 'required',
  async handle({ user }) {
    return { data: await beginAuthenticator(user) }
  },
})

export const DELETE = userEndpoint({
  method: 'DELETE',
  effect: 'none',
  summary: 'Remove the authenticator app',
  response: EmptyResponse,
  errorCodes: ['factor_not_found'],
  proof: 'required',
  async handle({ user }) {
    await removeAuthenticator(user)
    return { data: {} }
  },
})
