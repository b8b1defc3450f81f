import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { accountChange } from '#lib/rooms/accounts/schema.ts'
import { updateAccount } from '#lib/rooms/accounts/update.ts'
import { AccountSettings } from '#lib/rooms/accounts/wire.ts'

export const PATCH = endpoint({
  method: 'PATCH',
  effect: 'none',
  summary: 'Change the settings of the account',
  allow: 'settings:write',
  proof: 'required',
  body: accountChange,
  response: AccountSettings,
  errorCodes: ['external_ids_repeat'],
  async handle({ account, body, userId }) {
    return { data: await updateAccount(account.id, body, requireActor(userId)) }
  },
})
