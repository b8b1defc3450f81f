import { db } from '#lib/base/db/client.ts'
import { retried } from '#lib/base/db/transaction.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'
import { type CallerRow, callerColumns } from '#lib/rooms/tokens/caller.ts'
import { hashToken } from '#lib/rooms/tokens/issue.ts'
import { type KnownCaller, rememberCaller } from '#lib/rooms/tokens/recall.ts'
import { isTokenActive } from '#lib/rooms/tokens/status.ts'
import { isTokenText } from '#lib/rooms/tokens/token-text.ts'

interface Row extends CallerRow {
  stale: boolean
}

/**
 * Whose token this is; null for one that is unknown, revoked or past its time. The database is
 * asked each time, so that a revocation acts on the next request in every process.
 */
export async function verifyToken(token: string): Promise<KnownCaller | null> {
  if (!isTokenText(token)) return null
  const hash = hashToken(token)
  const row = (await readRow(hash)) ?? ((await rehash(token, hash)) ? await readRow(hash) : null)
  if (!row) return null
  const { stale, ...caller } = row
  // A database that takes no writes just now can still be read.
  if (stale) await noteUse(hash).catch(error => log().warn({ err: error }, 'a use was not kept'))
  return rememberCaller(caller, token, hash)
}

/** One that was made under the server key before this one is found under this one from now on. */
async function rehash(token: string, hash: Uint8Array): Promise<boolean> {
  const before = env().TROCO_SECRET_BEFORE
  if (!before) return false
  const changed = await db().$executeRaw`
    UPDATE tokens SET hash = ${hash} WHERE hash = ${hashToken(token, before)}`
  // Another request may have done it a moment ago.
  return changed === 1 || (await db().token.count({ where: { hash: new Uint8Array(hash) } })) === 1
}

async function readRow(hash: Uint8Array): Promise<Row | null> {
  const [row] = await db().$queryRaw<Row[]>`
    SELECT ${callerColumns},
      (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute') AS stale
    FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ${hash} AND ${isTokenActive}`
  return row ?? null
}

/** At most once a minute: a busy token must not become a hot row. */
async function noteUse(hash: Uint8Array): Promise<void> {
  await retried(
    () => db().$executeRaw`
      UPDATE tokens SET last_used_at = now() WHERE hash = ${hash}
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
  )
}
