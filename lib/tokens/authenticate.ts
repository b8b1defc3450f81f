import { hash as digest } from 'node:crypto'
import { payingConnectionSql, receivingConnectionSql } from '#lib/banks/connections.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { createAddressCheck } from '#lib/core/addresses.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { isActiveAccount } from '#lib/people/roles.ts'
import { activeTokenCondition, hashToken, isTokenText, rootCondition } from '#lib/tokens/token.ts'

interface Row extends CallerRow {
  tokenId: string
  stale: boolean
}

/**
 * Queries the database each time: a revocation applies to the next request in every process. A request
 * from an address that the token refuses does not change `last_used_at`.
 */
export async function verifyToken(token: string, address?: string): Promise<ProvenCaller | null> {
  if (!isTokenText(token)) return null
  const hash = hashToken(token)
  const row = (await readRow(hash)) ?? (await rehash(token, hash)) ?? (await readRow(hash, PRIMARY))
  if (!row) return null
  const { stale, tokenId, ...columns } = row
  const caller = proveCaller(columns, tokenId, token, hash)
  if (address !== undefined && !caller.isAllowedFrom(address)) return caller
  // A token is valid even while the database accepts no writes.
  if (stale)
    await recordUse(hash).catch(error => log().warn({ err: error }, 'recording token use failed'))
  rememberCaller(caller)
  return caller
}

/** Rehashes a token of the previous server key with the current one. Returns its row, if it exists. */
async function rehash(token: string, hash: Uint8Array): Promise<Row | null> {
  const previousSecret = env().TROCO_SECRET_BEFORE
  if (!previousSecret) return null
  await db().$executeRaw`
    UPDATE tokens SET hash = ${hash} WHERE hash = ${hashToken(token, previousSecret)}`
  // Also if it changed nothing: a concurrent request may have replaced the hash just before.
  return readRow(hash)
}

/** A standby refuses every lock (25006): there, no token is found without one (docs/decisions/005). */
const PRIMARY = Prisma.sql`FOR KEY SHARE OF t`

async function readRow(hash: Uint8Array, lock = Prisma.empty): Promise<Row | null> {
  const [row] = await db().$queryRaw<Row[]>`
    SELECT ${callerColumns}, t.id AS "tokenId",
      (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute') AS stale
    FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ${hash} AND ${activeTokenCondition} AND NOT pg_is_in_recovery() ${lock}`
  return row ?? null
}

/** Records use at most once a minute, so that a busy token does not become a hot row. */
async function recordUse(hash: Uint8Array): Promise<void> {
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE tokens SET last_used_at = now() WHERE hash = ${hash}
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
  )
}

/** The lookup after the expiry also records the token's last use. */
const REMEMBERED_MS = 60_000
const REMEMBERED_MAX = 10_000

export interface ProvenCaller extends TokenCaller {
  tokenId: string
  /** Hash of the token, for counters per token. */
  key: string
  /** SQL that yields the account's id, or refuses the statement if the caller has changed. */
  proof: Prisma.Sql
}

/** Recent callers by token hash. Each statement verifies again that the caller is unchanged. */
const rememberedCallers = new Map<string, { caller: ProvenCaller; expiresAt: number }>()

function proveCaller(
  row: CallerRow,
  tokenId: string,
  token: string,
  hash: Uint8Array<ArrayBuffer>,
): ProvenCaller {
  return { ...toCaller(row), tokenId, key: cacheKeyOf(token), proof: proofOf(row, hash) }
}

export function rememberCaller(caller: ProvenCaller): void {
  const { key } = caller
  const [oldest] = rememberedCallers.keys()
  if (rememberedCallers.size >= REMEMBERED_MAX && oldest !== undefined)
    rememberedCallers.delete(oldest)
  if (caller.account.isActive)
    rememberedCallers.set(key, { caller, expiresAt: performance.now() + REMEMBERED_MS })
}

/**
 * Returns the caller without a lookup (docs/decisions/005). The statement must use `proof` as the
 * account id: it fails with TR401 if the token or account has changed, and with 25006 on a standby
 * (prisma/functions/troco_refuse_caller.sql).
 */
export function findRememberedCaller(token: string): ProvenCaller | null {
  if (!isTokenText(token)) return null
  const entry = rememberedCallers.get(cacheKeyOf(token))
  return entry && entry.expiresAt >= performance.now() ? entry.caller : null
}

function proofOf(row: CallerRow, hash: Uint8Array<ArrayBuffer>): Prisma.Sql {
  // A token without a parent is spared the parent's subquery: it never gets one.
  const isActive = row.parentId === null ? rootCondition : activeTokenCondition
  return Prisma.sql`(SELECT COALESCE((
    SELECT t.account_id FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ${hash} AND ${isActive} AND NOT pg_is_in_recovery()
      AND ${unchangedCallerCondition(row)}), troco_refuse_caller()))`
}

/** Hashes the token, so that the cache never contains it. An HMAC would cost ten times as much. */
function cacheKeyOf(token: string): string {
  return digest('sha256', token, 'base64')
}

interface TokenCaller
  extends Pick<CallerRow, 'mode' | 'permissions' | 'issuedBy' | 'formerIssuers'> {
  /** Returns whether the token may be used from this address. */
  isAllowedFrom: (address: string) => boolean
  account: {
    id: string
    name: string
    city: string
    expiresIn: number
    isActive: boolean
    receivingConnectionId: string | null
    payingConnectionId: string | null
  }
}

function toCaller(caller: CallerRow): TokenCaller {
  const { mode, permissions, accountId, status, issuedBy, formerIssuers, ...rest } = caller
  const { allowedAddresses, parentId: _, parentAddresses, ...row } = rest
  const checks = [allowedAddresses, parentAddresses ?? []].map(createAddressCheck)
  return {
    mode,
    permissions,
    issuedBy,
    formerIssuers,
    isAllowedFrom: address => checks.every(isAllowed => isAllowed(address)),
    account: {
      ...row,
      id: accountId,
      isActive: isActiveAccount(status),
      receivingConnectionId: connectionIn(mode, row.receivingConnectionId),
      payingConnectionId: connectionIn(mode, row.payingConnectionId),
    },
  }
}

export interface CallerRow {
  accountId: string
  mode: Mode
  permissions: string[]
  name: string
  city: string
  expiresIn: number
  status: string
  /** Member who answers for the token; null: the operator issued it. */
  issuedBy: string | null
  /** Members who issued it before another one confirmed it, and so may know its value. */
  formerIssuers: string[]
  /** Addresses and ranges from which the token may be used; empty: any. */
  allowedAddresses: string[]
  /** Token that created this one, if any, and the addresses that it may be used from. */
  parentId: string | null
  parentAddresses: string[] | null
  /** Connections that a live token may use; null in test mode. */
  receivingConnectionId: string | null
  payingConnectionId: string | null
}

/** Columns of tokens `t` and accounts `a`, for the lookup and the proof of a remembered caller. */
export const CALLER_COLUMNS: Record<keyof CallerRow, { column: string; type: string }> = {
  accountId: { column: 'a.id', type: 'uuid' },
  mode: { column: 't.mode', type: 'text' },
  permissions: { column: 't.permissions', type: 'text[]' },
  name: { column: 'a.name', type: 'text' },
  city: { column: 'a.city', type: 'text' },
  expiresIn: { column: 'a.expires_in', type: 'int' },
  status: { column: 'a.status', type: 'text' },
  issuedBy: { column: 't.issued_by', type: 'uuid' },
  formerIssuers: { column: 't.former_issuers', type: 'uuid[]' },
  allowedAddresses: { column: 't.allowed_addresses', type: 'text[]' },
  parentId: { column: 't.parent_id', type: 'uuid' },
  parentAddresses: {
    column:
      '(SELECT p.allowed_addresses FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id)',
    type: 'text[]',
  },
  receivingConnectionId: { column: ofLiveToken(receivingConnectionSql), type: 'uuid' },
  payingConnectionId: { column: ofLiveToken(payingConnectionSql), type: 'uuid' },
}

function ofLiveToken(sql: string): string {
  return `CASE WHEN t.mode = 'live' THEN ${sql} END`
}

const FIELDS = Object.keys(CALLER_COLUMNS) as (keyof CallerRow)[]
/** Always null for a test token, whose statements are spared them: each is a plan of its own. */
const LIVE_FIELDS: (keyof CallerRow)[] = ['receivingConnectionId', 'payingConnectionId']

const callerColumns = Prisma.raw(
  FIELDS.map(field => `${CALLER_COLUMNS[field].column} AS "${field}"`).join(', '),
)

/** Condition that the caller is unchanged. Needs no index: the token's hash finds the row. */
function unchangedCallerCondition(row: CallerRow): Prisma.Sql {
  const isCompared = (field: keyof CallerRow) =>
    (row.mode === 'live' || !LIVE_FIELDS.includes(field)) &&
    (row.parentId !== null || field !== 'parentAddresses')
  const conditions = FIELDS.filter(isCompared).map(field => {
    const { column, type } = CALLER_COLUMNS[field]
    return Prisma.sql`${Prisma.raw(column)} IS NOT DISTINCT FROM ${row[field]}::${Prisma.raw(type)}`
  })
  return Prisma.join(conditions, ' AND ')
}
