import { changeStatuses } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { AccountStatusChanges, statusChangesRequest } from '#lib/operator/wire.ts'

export const POST = adminEndpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Activate or suspend several accounts, with one result each',
  body: statusChangesRequest,
  response: AccountStatusChanges,
  proof: 'required',
  async handle({ user, body }) {
    return { data: await changeStatuses(body, requireActor(user.id)) }
  },
})
