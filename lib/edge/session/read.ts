import { db } from '#lib/base/db/client.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'
import { hasSecondFactor } from '#lib/services/people/factors.ts'
import { hashSecret } from '#lib/services/people/secret.ts'
import { activeSessionCondition } from '#lib/services/people/sessions.ts'

const SECRET_FORMAT = /^[A-Za-z0-9_-]{43}$/

/**
 * Null if unknown, ended, expired or idle for too long, or if the user is disabled. Stores the time
 * of use at most once a minute, unless `recordsUse` is false, as for background reads.
 */
export async function readSession(secret: string, recordsUse = true): Promise<SessionUser | null> {
  if (!SECRET_FORMAT.test(secret)) return null
  const [user] = await db().$queryRaw<SessionUser[]>`
    WITH session AS (
      SELECT s.id, s.user_id, s.last_used_at, s.proved_at FROM user_sessions s
      WHERE s.secret_hash = ${hashSecret(secret)} AND ${activeSessionCondition('s')}
    ), noted AS (
      UPDATE user_sessions s SET last_used_at = now() FROM session
      WHERE ${recordsUse} AND s.id = session.id AND s.last_used_at < now() - interval '1 minute'
    )
    SELECT u.id, u.email, u.name, u.is_admin AS "isAdmin", u.is_email_verified AS "isEmailVerified", u.locale, u.theme,
      session.id AS "sessionId",
      extract(epoch FROM now() - session.proved_at)::int AS "provedAgoS",
      ${hasSecondFactor} AS "hasSecondFactor",
      coalesce((
      SELECT json_agg(
        json_build_object('id', a.id, 'name', a.name, 'city', a.city, 'expiresIn', a.expires_in,
          'timeZone', a.time_zone, 'status', a.status,
          'statusReason', a.status_reason, 'role', m.role)
        ORDER BY m.created_at, a.id)
      FROM memberships m JOIN accounts a ON a.id = m.account_id WHERE m.user_id = u.id
    ), '[]') AS accounts
    FROM session JOIN users u ON u.id = session.user_id
    WHERE u.disabled_at IS NULL`
  return user ?? null
}
