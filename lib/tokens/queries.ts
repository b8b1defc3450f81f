import { type Person, readPeople } from '#lib/audit/queries.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/tokens/authenticate.ts'
import { exceedsIssuer } from '#lib/tokens/issue.ts'
import type { ExpiryField, TokenRequest, TokenRow } from '#lib/tokens/schema.ts'

/** Maximum ended tokens in a list, which shows only the latest. */
const ENDED_MAX = 50
const LIFETIME_YEARS_MAX = 10

/** A token as stored: its users are ids. */
type StoredToken = Omit<TokenRow, 'revoked_by' | 'revoker' | 'issuer' | 'exceeds_issuer'> & {
  account_id: string
  account_name: string
  mode: Mode
  is_active: boolean
  issued_by: string | null
  revoked_by: string | null
}

/** Time at which a parent `p` ended, or null. */
const endOfParent = Prisma.sql`(
  SELECT ${utcText('e.at')} FROM (SELECT LEAST(p.revoked_at, p.expires_at) AS at) e
  WHERE e.at <= now())`

export const tokenAsJson = asJson(Prisma.sql`
  t.id, t.name, t.prefix, t.last_four, t.permissions, t.allowed_addresses, ${tokenStatusSql} AS status,
  ${utc('t.created_at')}, ${utc('t.last_used_at')}, ${utc('t.expires_at')}, ${utc('t.revoked_at')},
  t.revoked_reason, t.replaced_by, t.account_id, t.mode, t.issued_by, t.revoked_by,
  (SELECT json_build_object('id', p.id, 'name', p.name, 'ended_at', ${endOfParent}) FROM tokens p
    WHERE p.account_id = t.account_id AND p.id = t.parent_id) AS parent,
  (SELECT n.name FROM accounts n WHERE n.id = t.account_id) AS account_name,
  ${activeTokenCondition} AS is_active`)

interface FoundToken {
  token: TokenRow
  mode: Mode
  account: { id: string; name: string }
}

/**
 * Reads tokens with a statement that selects `tokenAsJson`, then their users. Does not name staff of
 * the operator; those who are also members count as members.
 */
export async function readTokens(statement: Prisma.Sql): Promise<FoundToken[]> {
  const rows = await queryRows<StoredToken>(statement)
  const findPerson = await readPeople(
    rows.flatMap(row => [row.issued_by, row.revoked_by].map(id => [row.account_id, id] as const)),
  )
  return rows.map(stored => {
    const { account_id, account_name, mode, is_active, issued_by, revoked_by, ...row } = stored
    const [issuer, revoker] = [issued_by, revoked_by].map(id => findPerson(account_id, id))
    const nameOf = (person: Person | undefined) =>
      person && !person.isOperator ? person.name : null
    const issued = { issuedBy: issued_by, permissions: row.permissions }
    const token = {
      ...row,
      revoked_by: revokerOf(stored, revoker),
      revoker: nameOf(revoker),
      issuer: nameOf(issuer),
      exceeds_issuer: is_active && exceedsIssuer(issued, issuer?.role),
    } as const
    return { token, mode, account: { id: account_id, name: account_name } }
  })
}

function revokerOf({ revoked_by, parent }: StoredToken, revoker: Person | undefined) {
  if (revoked_by !== null && revoked_by === parent?.id) return 'token'
  if (!revoker) return null
  return revoker.isOperator ? 'operator' : 'member'
}

/** Lists active tokens, then the latest ended ones, each newest first: for a token itself and its children. */
export async function listTokens(
  accountId: string,
  mode: Mode,
  readerId: string | null = null,
): Promise<TokenRow[]> {
  const visible = readerId
    ? Prisma.sql` AND (t.id = ${readerId}::uuid OR t.parent_id = ${readerId}::uuid)`
    : Prisma.empty
  const scope = Prisma.sql`t.account_id = ${accountId}::uuid AND t.mode = ${mode}`
  // A reader has not ended, so the latest of its children are read in the order of their index.
  const ended = readerId ? Prisma.sql` AND t.parent_id = ${readerId}::uuid` : Prisma.empty
  const tokens = await readTokens(Prisma.sql`
    SELECT json FROM (
      SELECT ${tokenAsJson}::text AS json, 0 AS place, t.id FROM tokens t
      WHERE ${scope}${visible} AND ${activeTokenCondition}
      UNION ALL
      (SELECT ${tokenAsJson}::text, 1, t.id FROM tokens t
        WHERE ${scope}${ended} AND NOT ${activeTokenCondition} ORDER BY t.id DESC LIMIT ${ENDED_MAX})) found
    ORDER BY place, id DESC`)
  return tokens.map(({ token }) => token)
}

export async function readToken(accountId: string, mode: Mode, id: string): Promise<TokenRow> {
  const [found] = isUuid(id)
    ? await readTokens(Prisma.sql`
        SELECT ${tokenAsJson}::text AS json FROM tokens t
        WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.id = ${id}::uuid`)
    : []
  if (!found) throw refuse('token_not_found')
  return found.token
}

/** Returns the response to a repeated request: without the token, which is not stored. */
export async function readIssuedToken(accountId: string, mode: Mode, id: string) {
  return { ...(await readToken(accountId, mode, id)), token: null }
}

/** Returns when the requested token expires, and by which field. A day ends at midnight in the account's time zone. */
export async function resolveExpiry(
  accountId: string,
  { expires_in_days: days, expires_on: day }: TokenRequest,
): Promise<{ expiresAt?: Date; expiryField?: ExpiryField }> {
  if (days !== undefined) return { expiresAt: new Date(Date.now() + days * 86_400_000) }
  if (day === undefined) return {}
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
  return { expiresAt: expiry.at, expiryField: 'expires_on' }
}
