import { hash as digest } from 'node:crypto'
import { Prisma } from '#lib/base/db/client.ts'
import {
  type CallerRow,
  isStillCaller,
  type TokenCaller,
  toCaller,
} from '#lib/rooms/tokens/caller.ts'
import { isTokenActive } from '#lib/rooms/tokens/status.ts'
import { isTokenText } from '#lib/rooms/tokens/token-text.ts'

/** Lifetime of a remembered caller. The lookup after it also records the token's last use. */
const REMEMBERED_MS = 60_000
const REMEMBERED_MAX = 10_000

export interface KnownCaller extends TokenCaller {
  /** Hash of the token, for counters per token. */
  key: string
}

/** Remembered caller, with SQL that yields the account's id or refuses the statement. */
type RecalledCaller = KnownCaller & { proof: Prisma.Sql }

/** Recent callers by token hash. Each statement verifies again that the caller is unchanged. */
const remembered = new Map<string, { caller: RecalledCaller; until: number }>()

export function rememberCaller(
  row: CallerRow,
  token: string,
  hash: Uint8Array<ArrayBuffer>,
): KnownCaller {
  const key = nameOf(token)
  const caller = { ...toCaller(row), key }
  const [oldest] = remembered.keys()
  if (remembered.size >= REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
  if (caller.account.isActive) {
    const proof = proofOf(row, hash)
    remembered.set(key, { caller: { ...caller, proof }, until: performance.now() + REMEMBERED_MS })
  }
  return caller
}

/**
 * Returns the caller without a lookup (docs/decisions/005). The statement must name the account by
 * `proof`: it fails with TR401 once the token or account has changed
 * (prisma/functions/troco_refuse_caller.sql).
 */
export function recallToken(token: string): RecalledCaller | null {
  if (!isTokenText(token)) return null
  const memory = remembered.get(nameOf(token))
  return memory && memory.until >= performance.now() ? memory.caller : null
}

function proofOf(row: CallerRow, hash: Uint8Array<ArrayBuffer>): Prisma.Sql {
  return Prisma.sql`(SELECT COALESCE((
    SELECT t.account_id FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ${hash} AND ${isTokenActive}
      AND ${isStillCaller(row)}), troco_refuse_caller()))`
}

/** Hashes the token, so that it is never held in memory. An HMAC would cost ten times as much. */
function nameOf(token: string): string {
  return digest('sha256', token, 'base64')
}
