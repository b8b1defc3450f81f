import { env } from '#lib/core/settings.ts'
import { FIRST_STEPS_COOKIE } from '#lib/dashboard/schema.ts'
import { ACCOUNT_COOKIE, LOCALE_COOKIE, THEME_COOKIE } from '#lib/session/schema.ts'

/** Browsers store no longer cookie, with its name. */
const VALUE_LENGTH_MAX = 4_096

/** `__Host-` binds a cookie to this host over HTTPS; browsers drop it on plain HTTP (local use). */
export function cookieNames() {
  const secure = env().PUBLIC_URL.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  return {
    secure,
    session: `${prefix}troco-session`,
    csrf: `${prefix}troco-csrf`,
    callback: `${prefix}troco-callback`,
    // next-auth treats a cookie whose name begins with the session cookie's as a part of it.
    openid: `${prefix}troco-openid`,
    step: `${prefix}troco-step`,
    device: `${prefix}troco-device`,
  }
}

/** Returns the value of a cookie in a Cookie header. */
export function readCookie(header: string, name: string): string | null {
  const pairs = header.split(';').map(pair => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1] ?? null
}

/**
 * Returns a Cookie header with Troco's own cookies only, each once. next-auth joins `name.0`, `name.1` … and
 * takes 1.3 s for 1,400 of them; Troco sets no such parts.
 */
export function pickOwnCookies(header: string): string {
  const { session, csrf, callback, openid, step, device } = cookieNames()
  const preferences = [ACCOUNT_COOKIE, LOCALE_COOKIE, THEME_COOKIE, FIRST_STEPS_COOKIE]
  const names = [session, csrf, callback, step, device, ...preferences]
  const left = new Set([...names, ...['state', 'nonce', 'pkce'].map(name => `${openid}-${name}`)])
  const own = header.split(';').filter(pair => {
    const [name = '', value = ''] = pair.split('=', 2)
    return value.length <= VALUE_LENGTH_MAX && left.delete(name.trim())
  })
  return own.map(pair => pair.trim()).join('; ')
}
