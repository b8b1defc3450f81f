import * as z from 'zod'
import { answerDispute } from '#lib/charges/disputes/read-list.ts'
import { ANSWER_STATES } from '#lib/charges/disputes/schema.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { answerRequest } from '#lib/operator/schema.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Send the defence in a dispute to the bank, once',
  body: answerRequest,
  response: z.object({ data: z.object({ state: z.enum(ANSWER_STATES) }) }),
  errorCodes: ['not_found', 'dispute_refused', 'service_unavailable'],
  proof: 'required',
  async handle({ user, body, params: { id: accountId = '', dispute_id: id = '' } }) {
    return { data: { state: await answerDispute({ accountId, id, text: body.text, by: user.id }) } }
  },
})
