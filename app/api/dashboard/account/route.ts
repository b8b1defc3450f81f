import { AccountSettings, accountChange } from '#lib/accounts/schema.ts'
import { updateAccount } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
