import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readEnding } from '#lib/operator/ending.ts'
import { endConfirmation, WithdrawalEndingRead } from '#lib/operator/schema.ts'
import { confirmEnd } from '#lib/withdrawals/end.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'end',
  summary: 'End a withdrawal as another admin proposed',
  body: endConfirmation,
  response: WithdrawalEndingRead,
  errorCodes: ['withdrawal_not_found', 'end_by_other', 'end_refused'],
  proof: 'required',
  async handle({ user, body, params: { id: accountId = '', withdrawal_id: id = '' } }) {
    await confirmEnd({ accountId, id, proposalId: body.id, by: user.id })
    return { data: await readEnding(accountId, id, user.id) }
  },
})
