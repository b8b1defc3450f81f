import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { factorProof } from '#lib/services/people/schema.ts'
import { renewRecoveryCodes } from '#lib/services/people/second-factor.ts'
import { verifyFactorProof } from '#lib/services/people/verify-proof.ts'
import { FactorAdded } from '#lib/services/people/wire.ts'

export const POST = userEndpoint({
  // An earlier proof is not accepted: recovery codes replace the second factor.
  summary: 'Replace the recovery codes, confirmed with a second factor',
  body: factorProof,
  response: FactorAdded,
  async handle({ user, body }) {
    await verifyFactorProof(user, body)
    return { data: { recovery_codes: await renewRecoveryCodes(user) } }
  },
})
