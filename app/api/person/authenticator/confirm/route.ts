import { userEndpoint } from '#lib/http/endpoint.ts'
import { confirmAuthenticator } from '#lib/people/factors.ts'
import { codeProof, FactorAdded } from '#lib/people/schema.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Activate an authenticator app with its first code',
  body: codeProof,
  response: FactorAdded,
  proof: 'required',
  async handle({ user, body }) {
    return { data: { recovery_codes: await confirmAuthenticator(user, body.code) } }
  },
})
