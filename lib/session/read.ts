import { payingConnectionSql, receivingConnectionSql } from '#lib/banks/connections.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { env } from '#lib/core/settings.ts'
import { FIRST_STEPS_COOKIE } from '#lib/dashboard/schema.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { asJson, utcText } from '#lib/db/sql.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'
import { activeSessionCondition } from '#lib/people/sessions.ts'
import {
  ACCOUNT_COOKIE,
  LOCALE_COOKIE,
  type SessionUser,
  THEME_COOKIE,
} from '#lib/session/schema.ts'

const SECRET_FORMAT = /^[A-Za-z0-9_-]{43}$/

/** Columns of account `a` and of the role in it, `m`. */
const accountColumns = Prisma.sql`a.id, m.role, a.name, a.city, a.expires_in AS "expiresIn",
  a.time_zone AS "timeZone", a.charge_review_above AS "chargeReviewAbove", a.status, a.status_reason AS "statusReason",
  ${Prisma.raw(receivingConnectionSql)} AS "receivingConnectionId",
  ${Prisma.raw(payingConnectionSql)} AS "payingConnectionId"`

/**
 * Null if unknown, ended, expired or idle for too long, or if the user is disabled. Stores the time
 * of use at most once a minute, unless `recordsUse` is false, as for background reads.
 */
export async function readSession(secret: string, recordsUse = true): Promise<SessionUser | null> {
  if (!SECRET_FORMAT.test(secret)) return null
  const [user] = await db().$queryRaw<SessionUser[]>`
    WITH session AS (
      SELECT s.id, s.user_id, s.last_used_at, s.proved_at, s.viewed_account_id, s.viewing_until
      FROM user_sessions s
      WHERE s.secret_hash = ${hashSecret(secret)} AND ${activeSessionCondition('s')}
    ), noted AS (
      UPDATE user_sessions s SET last_used_at = now() FROM session
      WHERE ${recordsUse} AND s.id = session.id AND s.last_used_at < now() - interval '1 minute'
    )
    SELECT u.id, u.email, u.name, u.is_admin AS "isAdmin", u.is_email_verified AS "isEmailVerified", u.locale, u.theme,
      session.id AS "sessionId",
      extract(epoch FROM now() - session.proved_at)::int AS "provedAgoS",
      ${hasSecondFactor} AS "hasSecondFactor",
      CASE WHEN v.is_viewing
        THEN json_build_object('accountId', session.viewed_account_id,
          'until', ${utcText('session.viewing_until')}) END AS viewing,
      COALESCE((
        SELECT json_agg(${asJson(accountColumns)} ORDER BY m.created_at, m.account_id)
        FROM (
          SELECT account_id, role, created_at FROM memberships
          WHERE user_id = u.id AND NOT v.is_viewing
          UNION ALL SELECT session.viewed_account_id, 'viewer', now() WHERE v.is_viewing
        ) m JOIN accounts a ON a.id = m.account_id
      ), '[]') AS accounts
    FROM session JOIN users u ON u.id = session.user_id
    CROSS JOIN LATERAL (
      SELECT u.is_admin AND COALESCE(session.viewing_until > now(), false) AS is_viewing) v
    WHERE u.disabled_at IS NULL`
  if (!user) return null
  return user.viewing ? { ...user, accounts: hideTaxIds(user.accounts) } : user
}

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
  const providers = [`${openid}-state`, `${openid}-nonce`, `${openid}-pkce`]
  const left = new Set([session, csrf, callback, step, device, ...preferences, ...providers])
  const own = header.split(';').filter(pair => {
    const [name = '', value = ''] = pair.split('=', 2)
    return value.length <= VALUE_LENGTH_MAX && left.delete(name.trim())
  })
  return own.map(pair => pair.trim()).join('; ')
}
