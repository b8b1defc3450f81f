const YEAR_SECONDS = 365 * 86_400

/** Kept in a cookie, so that the server's first answer already looks as chosen. */
export function keepPreference(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in older Safaris
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`
}
