import { env } from '#lib/base/env.ts'

/**
 * `__Host-` ties a cookie to this very host over https; browsers drop it on plain http, so local
 * use goes without.
 */
export function cookieNames() {
  const secure = env().PUBLIC_URL.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  return {
    secure,
    session: `${prefix}troco-session`,
    csrf: `${prefix}troco-csrf`,
    callback: `${prefix}troco-callback`,
    // next-auth takes whatever begins like the session's name for a piece of the session.
    openid: `${prefix}troco-openid`,
    step: `${prefix}troco-step`,
  }
}
