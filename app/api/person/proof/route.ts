import { personDoor } from '#lib/edge/http/door.ts'
import { listProofMethods, prove } from '#lib/services/people/prove.ts'
import { proofRequest } from '#lib/services/people/schema.ts'
import { Done, ProofMethods } from '#lib/services/people/wire.ts'

export const GET = personDoor({
  summary: 'By what one may show again who one is',
  answer: ProofMethods,
  async handle({ user }) {
    return { data: { methods: await listProofMethods(user.id) } }
  },
})

export const POST = personDoor({
  summary: 'Show again who one is, before a weighty deed',
  body: proofRequest,
  answer: Done,
  async handle({ user, body }) {
    await prove(user, body)
    return { data: {} }
  },
})
