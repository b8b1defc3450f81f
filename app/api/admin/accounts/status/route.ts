import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { changeStatuses } from '#lib/rooms/accounts/change-statuses.ts'
import { AccountStatusChanges, statusChangesRequest } from '#lib/views/admin/wire.ts'

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
