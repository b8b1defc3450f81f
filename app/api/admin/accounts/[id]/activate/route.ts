import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { activateAccount } from '#lib/rooms/accounts/activate.ts'
import { readStatusChange } from '#lib/views/admin/accounts.ts'
import { optionalReasonRequest } from '#lib/views/admin/schema.ts'
import { AccountStatusChange } from '#lib/views/admin/wire.ts'

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
