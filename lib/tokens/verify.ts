import { log } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { type CallerRow, callerColumns } from '#lib/tokens/caller-row.ts'
import { hashToken } from '#lib/tokens/insert.ts'
import { type ProvenCaller, proveCaller, rememberCaller } from '#lib/tokens/recall.ts'
import { activeTokenCondition } from '#lib/tokens/status.ts'
import { isTokenText } from '#lib/tokens/token-text.ts'

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
