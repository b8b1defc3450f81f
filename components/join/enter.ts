import { signIn } from '#components/form/auth-calls.ts'
import { storePreference } from '#components/nav/preferences.tsx'
import { createApi } from '#lib/core/call-api.ts'
import { ACCOUNT_COOKIE } from '#lib/session/schema.ts'

export const anonymousApi = createApi({ mode: 'test', userId: null, accountId: null })

export function enterAccount(accountId: string): void {
  storePreference(ACCOUNT_COOKIE, accountId)
  location.assign('/test/home')
}

export async function signInToAccount(
  accountId: string,
  email: string,
  password: string,
): Promise<void> {
  storePreference(ACCOUNT_COOKIE, accountId)
  if ((await signIn({ email, password })) === 'ok') return enterAccount(accountId)
  location.assign('/login')
}
