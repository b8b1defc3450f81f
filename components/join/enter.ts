import { signIn } from '#components/form/auth-calls.ts'
import { keepPreference } from '#components/format/preferences.ts'
import { createApi } from '#lib/edge/client/api.ts'
import { ACCOUNT_COOKIE } from '#lib/edge/session/schema.ts'

/** API client for pages without an account or a session. */
export const openApi = createApi({ mode: 'test', accountId: null })

/** Opens the given account with a full page load. */
export function goInto(accountId: string): void {
  keepPreference(ACCOUNT_COOKIE, accountId)
  location.assign('/test/home')
}

/** Signs in a new user with the password they just chose, then opens the account. */
export async function signInto(accountId: string, email: string, password: string): Promise<void> {
  keepPreference(ACCOUNT_COOKIE, accountId)
  if ((await signIn({ email, password })) === 'ok') return goInto(accountId)
  location.assign('/login')
}
