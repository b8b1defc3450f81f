import { hash as digest } from 'node:crypto'
import { Prisma } from '#lib/db/client.ts'
import { type TokenCaller, toCaller } from '#lib/tokens/caller.ts'
import { type CallerRow, unchangedCallerCondition } from '#lib/tokens/caller-row.ts'
import { activeTokenCondition, rootCondition } from '#lib/tokens/status.ts'
import { isTokenText } from '#lib/tokens/token-text.ts'

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

export function proveCaller(
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
