import { userEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { proofRequest } from '#lib/services/people/schema.ts'
import { listProofMethods, verifyProof } from '#lib/services/people/verify-proof.ts'
import { EmptyResponse, ProofMethods } from '#lib/services/people/wire.ts'

export const GET = userEndpoint({
  summary: 'List the methods for confirming the identity',
  response: ProofMethods,
  async handle({ user }) {
    return { data: { methods: await listProofMethods(user.id) } }
  },
})

export const POST = userEndpoint({
  summary: 'Confirm the identity before a sensitive action',
  body: proofRequest,
  response: EmptyResponse,
  async handle({ user, body }) {
    await verifyProof(user, body)
    return { data: {} }
  },
})
