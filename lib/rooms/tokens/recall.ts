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

/** After this long a caller is looked up again, which also records the token's last use. */
const REMEMBERED_MS = 60_000
const REMEMBERED_MAX = 10_000

export interface KnownCaller extends TokenCaller {
  /** A hash of the token, for whoever counts by it. */
  key: string
}

/** A remembered caller, with SQL that yields the account's id or refuses the statement. */
type RecalledCaller = KnownCaller & { proof: Prisma.Sql }

/** Recent callers, by the token's hash. Each statement proves again that they are still the same. */
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
 * Returns the remembered caller of a token without a look-up. The statement that does the work must
 * name the account by `proof`: it fails with TR401 as soon as the token or the account has changed
 * (prisma/functions/troco_refuse_caller.sql). Saves a look-up per request: docs/decisions/005.
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

/** The token itself is never kept. Its HMAC would do as well, and costs ten times as much. */
function nameOf(token: string): string {
  return digest('sha256', token, 'base64')
}
