import { adminEndpoint } from '#lib/http/endpoint.ts'
import { endProposal, OrderEndingRead } from '#lib/operator/schema.ts'
import { readEnding } from '#lib/operator/stuck.ts'
import { proposeEnd } from '#lib/orders/end.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'end_proposal',
  summary: 'Propose how to end an order that the bank never answers',
  body: endProposal,
  response: OrderEndingRead,
  errorCodes: ['order_not_found', 'end_refused'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await proposeEnd({ id, ...body }, user.id)
    return { data: await readEnding(id, user.id) }
  },
})
