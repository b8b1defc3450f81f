import { hash as digest } from 'node:crypto'
import { Prisma } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'
import { isTokenActive } from '#lib/rooms/tokens/status.ts'
import { isTokenText } from '#lib/rooms/tokens/token-text.ts'

/** A caller is looked up afresh after so long, which also notes that the token is in use. */
const REMEMBERED_MS = 60_000
const REMEMBERED_MAX = 10_000

interface TokenCaller {
  mode: Mode
  permissions: string[]
  account: { id: string; name: string; city: string; expiresIn: number; isActive: boolean }
}

export interface KnownCaller extends TokenCaller {
  /** A hash of the token, for whoever counts by it. */
  key: string
}

interface Memory {
  caller: KnownCaller
  hash: Uint8Array<ArrayBuffer>
  until: number
}

/** Callers of a moment ago, by the token's hash. What they may is proved again by each statement. */
const remembered = new Map<string, Memory>()

export function rememberCaller(
  caller: TokenCaller,
  token: string,
  hash: Uint8Array<ArrayBuffer>,
): KnownCaller {
  const key = nameOf(token)
  const known = { ...caller, key }
  const [oldest] = remembered.keys()
  if (remembered.size >= REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
  if (caller.account.isActive) {
    remembered.set(key, { caller: known, hash, until: performance.now() + REMEMBERED_MS })
  }
  return known
}

/**
 * Whose token this was a moment ago, without asking. Nothing may come of it unless the statement
 * that does the work names the account by `proof`: that one fails with TR401 as soon as the token
 * or the account is not the same any more (prisma/functions/troco_refuse_caller.sql).
 */
export function recallToken(token: string): (KnownCaller & { proof: Prisma.Sql }) | null {
  if (!isTokenText(token)) return null
  const memory = remembered.get(nameOf(token))
  if (!memory || memory.until < performance.now()) return null
  const { permissions, account } = memory.caller
  const proof = Prisma.sql`(SELECT COALESCE((
    SELECT t.account_id FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ${memory.hash} AND ${isTokenActive}
      AND t.permissions = ${permissions}::text[] AND a.status = 'active'
      AND a.name = ${account.name} AND a.city = ${account.city}
      AND a.expires_in = ${account.expiresIn}::int), troco_refuse_caller()))`
  return { ...memory.caller, proof }
}

/** The token itself is never kept. Its HMAC would do as well, and costs ten times as much. */
function nameOf(token: string): string {
  return digest('sha256', token, 'base64')
}
