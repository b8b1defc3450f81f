import { EmptyResponse } from '#lib/core/fields.ts'
import { userEndpoint } from '#lib/http/endpoint.ts'
import { ProofMethods, proofRequest } from '#lib/people/schema.ts'
import { listProofMethods, verifyProof } from '#lib/session/proof.ts'

export const GET = userEndpoint({
  method: 'GET',
  summary: 'List the methods for confirming the identity',
  response: ProofMethods,
  async handle({ user }) {
    return { data: { methods: await listProofMethods(user.id) } }
  },
})

export const POST = userEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Confirm the identity before a sensitive action',
  body: proofRequest,
  response: EmptyResponse,
  proof: { notRequired: 'This request is the proof.' },
  async handle({ user, body }) {
    await verifyProof(user, body)
    return { data: {} }
  },
})
