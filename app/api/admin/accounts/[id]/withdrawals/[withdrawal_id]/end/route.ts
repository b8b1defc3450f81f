import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readEnding } from '#lib/operator/ending.ts'
import { endProposal, WithdrawalEndingRead } from '#lib/operator/schema.ts'
import { proposeEnd } from '#lib/withdrawals/end.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'end_proposal',
  summary: 'Propose how to end a withdrawal that the bank never answers',
  body: endProposal,
  response: WithdrawalEndingRead,
  errorCodes: ['withdrawal_not_found', 'end_refused'],
  proof: 'required',
  async handle({ user, body, params: { id: accountId = '', withdrawal_id: id = '' } }) {
    await proposeEnd({ accountId, id, ...body }, user.id)
    return { data: await readEnding(accountId, id, user.id) }
  },
})
