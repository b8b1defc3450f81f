import { cookies, headers } from 'next/headers'
import { cache } from 'react'
import { LOCALES, type Locale, preferredLocale } from '#lib/core/locale.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import {
  ACCOUNT_COOKIE,
  LOCALE_COOKIE,
  type SessionAccount,
  type SessionUser,
  THEME_COOKIE,
  THEMES,
  type Theme,
} from '#lib/session/schema.ts'

/** Returns the language chosen in this browser, else in the profile, else the browser's. */
export async function readLocale(): Promise<Locale> {
  const chosen = (await cookies()).get(LOCALE_COOKIE)?.value ?? (await currentUser())?.locale
  const known = LOCALES.find(locale => locale === chosen)
  return known ?? preferredLocale((await headers()).get('accept-language') ?? '')
}

export async function readTheme(): Promise<Theme> {
  const chosen = (await cookies()).get(THEME_COOKIE)?.value ?? (await currentUser())?.theme
  return THEMES.find(theme => theme === chosen) ?? 'system'
}

/** Returns the account that was chosen last, else the first. */
export async function chooseAccount({ accounts }: SessionUser): Promise<SessionAccount | null> {
  const chosen = (await cookies()).get(ACCOUNT_COOKIE)?.value
  return accounts.find(({ id }) => id === chosen) ?? accounts[0] ?? null
}

export const currentUser = cache(async (): Promise<SessionUser | null> => {
  const secret = (await cookies()).get(cookieNames().session)?.value
  return secret ? readSession(secret) : null
})
