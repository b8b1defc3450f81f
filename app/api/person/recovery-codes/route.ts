import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { factorProof } from '#lib/services/people/schema.ts'
import { renewRecoveryCodes } from '#lib/services/people/second-factor.ts'
import { verifyFactorProof } from '#lib/services/people/verify-proof.ts'
import { FactorAdded } from '#lib/services/people/wire.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Replace the recovery codes, confirmed with a second factor',
  body: factorProof,
  response: FactorAdded,
  proof: {
    notRequired:
      'The request contains a second factor. An earlier proof is not enough: the codes can replace that factor.',
  },
  async handle({ user, body }) {
    await verifyFactorProof(user, body)
    return { data: { recovery_codes: await renewRecoveryCodes(user) } }
  },
})
