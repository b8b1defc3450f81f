import { adminEndpoint } from '#lib/http/endpoint.ts'
import { requireBank } from '#lib/operator/banks/list.ts'
import { MoneyOutOpened, moneyOutRequest } from '#lib/operator/banks/schema.ts'
import { openMoneyOut } from '#lib/operator/restore.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary:
    'Propose to open money out of a connection after a restore, or open it as another admin proposed',
  body: moneyOutRequest,
  response: MoneyOutOpened,
  errorCodes: ['connection_not_found', 'end_by_other', 'opening_refused'],
  proof: 'required',
  async handle({ user, body: { reason, proposal_id: proposalId }, params: { id = '' } }) {
    await requireBank(id)
    const state = await openMoneyOut({ connectionId: id, by: user.id, reason, proposalId })
    return { data: { state } }
  },
})
