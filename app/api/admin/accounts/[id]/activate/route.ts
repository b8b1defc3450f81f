import { activateAccount } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readStatusChange } from '#lib/operator/accounts.ts'
import { optionalReasonRequest } from '#lib/operator/schema.ts'
import { AccountStatusChange } from '#lib/operator/wire.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Activate an account',
  body: optionalReasonRequest,
  response: AccountStatusChange,
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await activateAccount(id, body.reason, requireActor(user.id))
    return { data: await readStatusChange(id) }
  },
})
