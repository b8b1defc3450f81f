import { signIn } from '#components/form/auth-calls.ts'
import { keepPreference } from '#components/format/preferences.ts'
import { createApi } from '#lib/edge/client/api.ts'
import { ACCOUNT_COOKIE } from '#lib/edge/session/schema.ts'

/** For pages that belong to no account, and often to nobody yet. */
export const openApi = createApi({ mode: 'test', accountId: null })

/** A whole new page, in the account that somebody is in from now on. */
export function goInto(accountId: string): void {
  keepPreference(ACCOUNT_COOKIE, accountId)
  location.assign('/test/home')
}

/** The same for somebody who is new here: with what they just chose. */
export async function signInto(accountId: string, email: string, password: string): Promise<void> {
  keepPreference(ACCOUNT_COOKIE, accountId)
  if ((await signIn({ email, password })) === 'ok') return goInto(accountId)
  location.assign('/login')
}
