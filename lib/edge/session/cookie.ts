import { env } from '#lib/base/env.ts'

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
