import { randomInt } from 'node:crypto'
import type { Client } from 'pg'
import { processWide } from '#lib/core/process-wide.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { isPooled } from '#lib/db/pooler.ts'

/** First number of the advisory locks that mark living processes; the second is the process's own. */
export const PRESENCE_LOCKS = 1_349_677_672
/** A process that is not seen for this long is dead: one that lives connects again sooner. */
export const RETURN_MAX_MS = 1_500
/** PostgreSQL notices within 11 s that the machine of a process is gone; the default is two hours. */
const KEEPALIVES = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`

const state = processWide('presence', () => ({ number: randomInt(1, 2 ** 31), isShown: false }))

/**
 * Shows on a connection that this process lives: PostgreSQL releases the lock when the connection ends,
 * as it does with the process. Behind a pooler, which keeps the session, nothing is shown.
 */
export async function showPresence(client: Client): Promise<void> {
  if (await isPooled(client)) return
  await client.query(KEEPALIVES)
  // Shared, because the connection before this one may still have it.
  await client.query('SELECT pg_advisory_lock_shared($1, $2)', [PRESENCE_LOCKS, state.number])
  await checkPresence()
}

/** The lock counts only where the keys are: its connection may lead to another server or database. */
export async function checkPresence(): Promise<void> {
  const isSeen = isSeenSql(Prisma.sql`${state.number}::integer`)
  const rows = await db().$queryRaw<{ isSeen: boolean }[]>`SELECT ${isSeen} AS "isSeen"`.catch(
    () => null,
  )
  if (rows) state.isShown = rows[0]?.isSeen ?? false
}

export function hidePresence(): void {
  state.isShown = false
}

/** Returns the number under which this process is seen; null if it is not. */
export function presence(): number | null {
  return state.isShown ? state.number : null
}

/** Condition: the process of the number in `column` is another one, and not seen any more. */
export function isGoneSql(column: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${column} IS NOT NULL AND ${column} <> ${state.number} AND NOT ${isSeenSql(column)})`
}

function isSeenSql(number: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${PRESENCE_LOCKS}::oid AND objid = ${number}::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
}
