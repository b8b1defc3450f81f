import { cookies, headers } from 'next/headers'
import { preferredLocale } from '#lib/session/locale.ts'
import {
  LOCALE_COOKIE,
  LOCALES,
  type Locale,
  THEME_COOKIE,
  THEMES,
  type Theme,
} from '#lib/session/schema.ts'

/** The language that was chosen, else the browser's. */
export async function readLocale(): Promise<Locale> {
  const chosen = (await cookies()).get(LOCALE_COOKIE)?.value
  const known = LOCALES.find(locale => locale === chosen)
  return known ?? preferredLocale((await headers()).get('accept-language') ?? '')
}

export async function readTheme(): Promise<Theme> {
  const chosen = (await cookies()).get(THEME_COOKIE)?.value
  return THEMES.find(theme => theme === chosen) ?? 'system'
}
