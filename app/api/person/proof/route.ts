import { personDoor } from '#lib/edge/http/door.ts'
import { listProofMethods, verifyProof } from '#lib/services/people/prove.ts'
import { proofRequest } from '#lib/services/people/schema.ts'
import { Done, ProofMethods } from '#lib/services/people/wire.ts'

export const GET = personDoor({
  summary: 'List the methods for confirming the identity',
  answer: ProofMethods,
  async handle({ user }) {
    return { data: { methods: await listProofMethods(user.id) } }
  },
})

export const POST = personDoor({
  summary: 'Confirm the identity before a sensitive action',
  body: proofRequest,
  answer: Done,
  async handle({ user, body }) {
    await verifyProof(user, body)
    return { data: {} }
  },
})
