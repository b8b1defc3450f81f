import { refundOrders } from '#lib/charges/refunds/refund.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { returnOrders } from '#lib/operator/differences/resolve.ts'
import { endConfirmation, OrderEndingRead } from '#lib/operator/schema.ts'
import { readEnding } from '#lib/operator/stuck.ts'
import { confirmEnd } from '#lib/orders/end.ts'
import { withdrawalOrders } from '#lib/withdrawals/outcome.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'end',
  summary: 'End an order as another admin proposed',
  body: endConfirmation,
  response: OrderEndingRead,
  errorCodes: ['order_not_found', 'end_by_other', 'end_refused'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const confirmation = { id, proposalId: body.id, by: user.id }
    const rules = { withdrawal: withdrawalOrders, refund: refundOrders, return: returnOrders }
    await confirmEnd(confirmation, rules)
    return { data: await readEnding(id, user.id) }
  },
})
