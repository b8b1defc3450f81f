import { db, Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { invalidInput, refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { exceedsIssuerCondition } from '#lib/rooms/tokens/authority.ts'
import type { TokenRequest, TokenRow } from '#lib/rooms/tokens/schema.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/rooms/tokens/status.ts'

/** Maximum ended tokens in a list, which shows only the latest. */
const ENDED_MAX = 50
const LIFETIME_YEARS_MAX = 10

/** User who issued or revoked a token `t`. Staff who are also members count as members. */
const actorOf = (column: 'issued_by' | 'revoked_by') => Prisma.sql`FROM users u
  LEFT JOIN memberships m ON m.account_id = t.account_id AND m.user_id = u.id
  WHERE u.id = t.${Prisma.raw(column)}`

/** Name of a member; null for operator staff. */
const actorName = Prisma.sql`CASE WHEN u.is_admin AND m.user_id IS NULL THEN NULL ELSE u.name END`

export const tokenAsJson = asJson(Prisma.sql`
  t.id, t.name, t.prefix, t.last_four, t.permissions, ${tokenStatusSql} AS status,
  ${utc('t.created_at')}, ${utc('t.last_used_at')}, ${utc('t.expires_at')}, ${utc('t.revoked_at')},
  t.revoked_reason, t.replaced_by,
  (SELECT CASE WHEN u.is_admin AND m.user_id IS NULL THEN 'operator' ELSE 'member' END
    ${actorOf('revoked_by')}) AS revoked_by,
  (SELECT ${actorName} ${actorOf('revoked_by')}) AS revoker,
  (SELECT ${actorName} ${actorOf('issued_by')}) AS issuer,
  (${activeTokenCondition} AND ${exceedsIssuerCondition}) AS exceeds_issuer`)

/** Lists active tokens, then the latest ended ones, each newest first. */
export function listTokens(accountId: string, mode: Mode): Promise<TokenRow[]> {
  const scope = Prisma.sql`t.account_id = ${accountId}::uuid AND t.mode = ${mode}`
  return queryRows<TokenRow>(Prisma.sql`
    SELECT json FROM (
      SELECT ${tokenAsJson}::text AS json, 0 AS place, t.id FROM tokens t
      WHERE ${scope} AND ${activeTokenCondition}
      UNION ALL
      (SELECT ${tokenAsJson}::text, 1, t.id FROM tokens t WHERE ${scope} AND NOT ${activeTokenCondition}
        ORDER BY t.id DESC LIMIT ${ENDED_MAX})) found
    ORDER BY place, id DESC`)
}

export async function readToken(accountId: string, mode: Mode, id: string): Promise<TokenRow> {
  const [token] = isUuid(id)
    ? await queryRows<TokenRow>(Prisma.sql`
        SELECT ${tokenAsJson}::text AS json FROM tokens t
        WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.id = ${id}::uuid`)
    : []
  if (!token) throw refuse('token_not_found')
  return token
}

/** Returns the response to a repeated request: without the token, which is not stored. */
export async function readIssuedToken(accountId: string, mode: Mode, id: string) {
  return { ...(await readToken(accountId, mode, id)), token: null }
}

/** Returns when the requested token expires. A day ends at midnight in the account's time zone. */
export async function resolveExpiry(
  accountId: string,
  { expires_in_days: days, expires_on: day }: TokenRequest,
): Promise<Date | undefined> {
  if (days !== undefined) return new Date(Date.now() + days * 86_400_000)
  if (day === undefined) return undefined
  const [expiry] = await db().$queryRaw<
    { at: Date; isWithinLifetime: boolean; isAhead: boolean }[]
  >`
    SELECT e.at, e.at > now() AS "isAhead",
      e.at < now() + make_interval(years => ${LIFETIME_YEARS_MAX}::int) AS "isWithinLifetime"
    FROM accounts a
    CROSS JOIN LATERAL (SELECT (${day}::date + 1)::timestamp AT TIME ZONE a.time_zone AS at) e
    WHERE a.id = ${accountId}::uuid`
  if (!expiry?.isAhead) throw invalidInput('expires_on', 'must be today or later')
  if (!expiry.isWithinLifetime) throw invalidInput('expires_on', 'must be within ten years')
  return expiry.at
}
