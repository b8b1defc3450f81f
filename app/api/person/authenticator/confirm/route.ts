import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { confirmAuthenticator } from '#lib/services/people/authenticator.ts'
import { codeProof } from '#lib/services/people/schema.ts'
import { FactorAdded } from '#lib/services/people/wire.ts'

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
