import type { Locale } from '#lib/base/locale.ts'
import type { Api } from '#lib/edge/client/api.ts'
import { LOCALE_COOKIE, THEME_COOKIE, type Theme } from '#lib/edge/session/schema.ts'

const YEAR_SECONDS = 365 * 86_400
const THEME_CHANGED = 'troco-theme'

/** Kept in a cookie, so that the server's first answer already looks as chosen. */
export function keepPreference(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in older Safaris
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`
}

/** Shown at once here, and kept with the person for wherever they sign in next. */
export function keepTheme(theme: Theme, api: Api | null): void {
  keepPreference(THEME_COOKIE, theme)
  document.documentElement.dataset.theme = theme
  dispatchEvent(new Event(THEME_CHANGED))
  keepWithPerson({ theme }, api)
}

export function keepLocale(locale: Locale, api: Api | null): void {
  keepPreference(LOCALE_COOKIE, locale)
  keepWithPerson({ locale }, api)
}

/** This browser keeps the choice in any case, so nothing is lost where the server refuses it. */
function keepWithPerson(body: { theme?: Theme; locale?: Locale }, api: Api | null): void {
  api?.send('PATCH', '/dashboard/profile', { body }).catch(() => {})
}

/** Calls back whenever the theme is changed, by whichever switch of the page. */
export function watchTheme(onChange: () => void): () => void {
  addEventListener(THEME_CHANGED, onChange)
  return () => removeEventListener(THEME_CHANGED, onChange)
}

export function shownTheme(): string {
  return document.documentElement.dataset.theme ?? 'system'
}
