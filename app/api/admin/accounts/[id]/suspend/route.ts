import { suspendAccount } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { readStatusChange } from '#lib/operator/accounts.ts'
import { reasonRequest } from '#lib/operator/schema.ts'
import { AccountStatusChange } from '#lib/operator/wire.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Suspend an account',
  body: reasonRequest,
  response: AccountStatusChange,
  errorCodes: ['account_not_found'],
  proof: 'required',
  async handle({ user, body, params: { id = '' } }) {
    await suspendAccount(id, body.reason, requireActor(user.id))
    return { data: await readStatusChange(id) }
  },
})
