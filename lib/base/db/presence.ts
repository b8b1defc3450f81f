import { randomInt } from 'node:crypto'
import type { Client } from 'pg'
import { Prisma } from '#lib/base/db/client.ts'
import { isPooled } from '#lib/base/db/pooler.ts'
import { processWide } from '#lib/base/process-wide.ts'

/** First number of the advisory locks that say which processes live; the second is the process's own. */
const LOCK_CLASS = 1_349_677_672

const state = processWide('presence', () => ({ number: randomInt(1, 2 ** 31), isShown: false }))

/**
 * Shows on a connection that this process lives: PostgreSQL releases the lock when the connection ends,
 * as it does with the process. Behind a pooler, which keeps the session, nothing is shown.
 */
export async function showPresence(client: Client): Promise<void> {
  if (await isPooled(client)) return
  // Shared, because the connection before this one may still have it.
  await client.query('SELECT pg_advisory_lock_shared($1, $2)', [LOCK_CLASS, state.number])
  state.isShown = true
}

export function hidePresence(): void {
  state.isShown = false
}

export function processNumber(): number {
  return state.number
}

/** Returns the number under which this process is seen; null if it is not. */
export function presence(): number | null {
  return state.isShown ? state.number : null
}

/** Condition: the process of the number in `column` is not seen any more. */
export function isGoneSql(column: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${column} IS NOT NULL AND NOT EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${LOCK_CLASS}::oid AND objid = ${column}::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))`
}
