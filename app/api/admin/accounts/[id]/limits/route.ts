import * as z from 'zod'
import { accountLimits } from '#lib/accounts/schema.ts'
import { limitAccount } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'

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
