import { accountChange } from '#lib/accounts/schema.ts'
import { updateAccount } from '#lib/accounts/update.ts'
import { AccountSettings } from '#lib/accounts/wire.ts'
import { actorOf } from '#lib/audit/note.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PATCH = endpoint({
  summary: 'Change the settings of the account',
  allow: 'settings:write',
  body: accountChange,
  answer: AccountSettings,
  async handle({ account, body, userId }) {
    return { data: await updateAccount(account.id, body, actorOf(userId)) }
  },
})
