import { payingConnectionSql, receivingConnectionSql } from '#lib/banks/assigned.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { utcText } from '#lib/db/columns.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'
import { activeSessionCondition } from '#lib/people/sessions.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'

type MemberRole = Pick<SessionAccount, 'id' | 'role'>

const SECRET_FORMAT = /^[A-Za-z0-9_-]{43}$/

/**
 * Null if unknown, ended, expired or idle for too long, or if the user is disabled. Stores the time
 * of use at most once a minute, unless `recordsUse` is false, as for background reads.
 */
export async function readSession(secret: string, recordsUse = true): Promise<SessionUser | null> {
  if (!SECRET_FORMAT.test(secret)) return null
  const [user] = await db().$queryRaw<(Omit<SessionUser, 'accounts'> & { roles: MemberRole[] })[]>`
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
      CASE WHEN u.is_admin AND session.viewing_until > now()
        THEN json_build_object('accountId', session.viewed_account_id,
          'until', ${utcText('session.viewing_until')}) END AS viewing,
      coalesce((
      SELECT json_agg(json_build_object('id', m.account_id, 'role', m.role)
        ORDER BY m.created_at, m.account_id)
      FROM memberships m WHERE m.user_id = u.id
    ), '[]') AS roles
    FROM session JOIN users u ON u.id = session.user_id
    WHERE u.disabled_at IS NULL`
  if (!user) return null
  const { roles, ...rest } = user
  const { viewing } = rest
  const viewed: MemberRole[] | null = viewing && [{ id: viewing.accountId, role: 'viewer' }]
  const accounts = await readAccountsOf(viewed ?? roles)
  return { ...rest, accounts: viewed ? hideTaxIds(accounts) : accounts }
}

/** Reads the accounts of a user, in the order in which they joined. */
async function readAccountsOf(roles: MemberRole[]): Promise<SessionAccount[]> {
  if (roles.length === 0) return []
  const columns = Prisma.sql`a.id, a.name, a.city, a.expires_in AS "expiresIn",
    a.time_zone AS "timeZone", a.charge_review_above AS "chargeReviewAbove", a.status, a.status_reason AS "statusReason",
    ${Prisma.raw(receivingConnectionSql)} AS "receivingConnectionId",
    ${Prisma.raw(payingConnectionSql)} AS "payingConnectionId"`
  const rows = await queryRows<Omit<SessionAccount, 'role'>>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM accounts a
    WHERE a.id = ANY(${roles.map(({ id }) => id)}::uuid[])`)
  const accounts = new Map(rows.map(row => [row.id, row]))
  return roles.flatMap(({ id, role }) => {
    const account = accounts.get(id)
    return account ? [{ ...account, role }] : []
  })
}
