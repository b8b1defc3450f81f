import { cookies, headers } from 'next/headers'
import { LOCALES, type Locale, preferredLocale } from '#lib/core/locale.ts'
import { currentUser } from '#lib/session/gate.ts'
import { LOCALE_COOKIE, THEME_COOKIE, THEMES, type Theme } from '#lib/session/schema.ts'

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
