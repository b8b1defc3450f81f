import { signIn } from '#components/form/auth-calls.ts'
import { storePreference } from '#components/format/preferences.ts'
import { createApi } from '#lib/edge/client/api.ts'
import { ACCOUNT_COOKIE } from '#lib/edge/session/schema.ts'

/** API client for pages without an account or a session. */
export const anonymousApi = createApi({ mode: 'test', accountId: null })

/** Opens the account with a full page load. */
export function enterAccount(accountId: string): void {
  storePreference(ACCOUNT_COOKIE, accountId)
  location.assign('/test/home')
}

/** Signs in a new user with the password just chosen, then opens the account. */
export async function signInToAccount(
  accountId: string,
  email: string,
  password: string,
): Promise<void> {
  storePreference(ACCOUNT_COOKIE, accountId)
  if ((await signIn({ email, password })) === 'ok') return enterAccount(accountId)
  location.assign('/login')
}
