import * as z from 'zod'
import { requireActor } from '#lib/base/audit/note.ts'
import { refuse } from '#lib/base/errors.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { limitAccount } from '#lib/rooms/accounts/limit.ts'
import { accountLimits } from '#lib/rooms/accounts/schema.ts'

export const PUT = adminEndpoint({
  method: 'PUT',
  effect: 'none',
  summary: 'Set the live-mode limits of an account',
  body: accountLimits,
  response: z.object({ data: accountLimits }),
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    const data = await limitAccount(id, body, requireActor(user.id))
    if (!data) throw refuse('account_not_found')
    return { data }
  },
})
