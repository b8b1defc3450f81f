import { requireActor } from '#lib/audit/record.ts'
import { payByUnmatched } from '#lib/charges/receive.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireItem } from '#lib/operator/differences/evidence.ts'
import {
  acknowledgeItem,
  creditAccount,
  giveBack,
  takeUnmatched,
} from '#lib/operator/differences/resolve.ts'
import { DifferenceDetailRead, resolveRequest } from '#lib/operator/differences/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Resolve a difference, with its money',
  body: resolveRequest,
  response: DifferenceDetailRead,
  errorCodes: [
    'item_not_found',
    'transaction_not_found',
    'already_final',
    'under_way',
    'refund_window_closed',
  ],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const { entry, reason, account_id: accountId = '', transaction_id: chargeId = '' } = body
    const decision = { itemId: id, reason, actor: requireActor(user.id) }
    if (entry === 'give_back') await giveBack(decision)
    else if (entry === 'credit') await creditAccount(decision, accountId)
    else if (entry === 'match') await payByUnmatched(decision, chargeId)
    else if (entry === 'keep') await takeUnmatched(decision)
    else await acknowledgeItem(decision)
    return { data: await requireItem(id, user.id) }
  },
})
