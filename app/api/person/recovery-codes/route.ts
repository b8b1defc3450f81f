import { userEndpoint } from '#lib/http/endpoint.ts'
import { renewRecoveryCodes } from '#lib/people/factors.ts'
import { CodesRenewed, factorProof } from '#lib/people/schema.ts'
import { verifyFactorProof } from '#lib/session/proof.ts'

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Replace the recovery codes, confirmed with a second factor',
  body: factorProof,
  response: CodesRenewed,
  proof: {
    notRequired:
      'The request contains a second factor. An earlier proof is not enough: the codes can replace that factor.',
  },
  async handle({ user, body }) {
    await verifyFactorProof(user, body)
    return { data: { recovery_codes: await renewRecoveryCodes(user) } }
  },
})
