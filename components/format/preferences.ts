import type { Api } from '#lib/core/call-api.ts'
import type { Locale } from '#lib/core/locale.ts'
import { LOCALE_COOKIE, THEME_COOKIE, type Theme } from '#lib/session/schema.ts'

const YEAR_S = 365 * 86_400
const THEME_CHANGED_EVENT = 'troco-theme'

/** Stores a choice in a cookie, so that the server renders the first page with it. */
export function storePreference(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in older Safaris
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${secure}`
}

/** Applies the theme in this browser and stores it in the user's profile, for other devices. */
export function setTheme(theme: Theme, api: Api | null): void {
  storePreference(THEME_COOKIE, theme)
  document.documentElement.dataset.theme = theme
  dispatchEvent(new Event(THEME_CHANGED_EVENT))
  storeInProfile({ theme }, api)
}

export function setLocale(locale: Locale, api: Api | null): void {
  storePreference(LOCALE_COOKIE, locale)
  storeInProfile({ locale }, api)
}

/** Ignores failures, because this browser's cookie already contains the choice. */
function storeInProfile(body: { theme?: Theme; locale?: Locale }, api: Api | null): void {
  api?.send('PATCH', '/dashboard/profile', { body }).catch(() => {})
}

export function watchTheme(onChange: () => void): () => void {
  addEventListener(THEME_CHANGED_EVENT, onChange)
  return () => removeEventListener(THEME_CHANGED_EVENT, onChange)
}

export function currentTheme(): string {
  return document.documentElement.dataset.theme ?? 'system'
}
