import { db } from '#lib/db/client.ts'
import type { SessionUser } from '#lib/session/schema.ts'
import { hashSecret } from '#lib/session/secret.ts'

/** A session that nobody used for so long has ended, however young it is. */
const IDLE_MAX_HOURS = 12

const SECRET = /^[A-Za-z0-9_-]{43}$/

/**
 * Whose session this is; null when it is unknown, signed out, past its time, idle for too long, or
 * of a disabled user. Its use is noted at most once a minute, in the same statement.
 */
export async function readSession(secret: string): Promise<SessionUser | null> {
  if (!SECRET.test(secret)) return null
  const [user] = await db().$queryRaw<SessionUser[]>`
    WITH session AS (
      SELECT s.id, s.user_id, s.last_used_at FROM user_sessions s
      WHERE s.secret_hash = ${hashSecret(secret)} AND s.revoked_at IS NULL AND s.expires_at > now()
        AND s.last_used_at > now() - make_interval(hours => ${IDLE_MAX_HOURS}::int)
    ), noted AS (
      UPDATE user_sessions s SET last_used_at = now() FROM session
      WHERE s.id = session.id AND s.last_used_at < now() - interval '1 minute'
    )
    SELECT u.id, u.email, u.name, u.is_admin AS "isAdmin", u.locale, u.theme, coalesce((
      SELECT json_agg(
        json_build_object('id', a.id, 'name', a.name, 'city', a.city, 'expiresIn', a.expires_in,
          'timeZone', a.time_zone, 'status', a.status, 'role', m.role)
        ORDER BY m.created_at, a.id)
      FROM memberships m JOIN accounts a ON a.id = m.account_id WHERE m.user_id = u.id
    ), '[]') AS accounts
    FROM session JOIN users u ON u.id = session.user_id
    WHERE u.disabled_at IS NULL`
  return user ?? null
}
