import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { type Database, db, type Tx } from '#lib/db/client.ts'

const ATTEMPTS_MAX = 5
const PAUSE_BASE_MS = 5

/** Serialization failure and deadlock: nothing was written, so a retry is safe. */
const RETRYABLE_CODES = new Set(['40001', '40P01', 'P2034'])

/** Retries after a conflict, never after a lost connection: the commit may have happened. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isConflict(error)) throw error
      await sleep(PAUSE_BASE_MS * 2 ** attempt * (0.5 + Math.random()))
    }
  }
}

export function transaction<T>(
  work: (tx: Tx) => Promise<T>,
  database: Database = db(),
): Promise<T> {
  return retryOnConflict(() => database.$transaction(work, { maxWait: 3_000, timeout: 10_000 }))
}

/** Runs statements of one connection outside of the pool, such as a migration's, all or none. */
export async function transactionOf<T>(
  client: Client,
  work: () => Promise<T>,
  begin: () => Promise<unknown> = () => client.query('BEGIN'),
): Promise<T> {
  await begin()
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function isConflict(error: unknown): boolean {
  return RETRYABLE_CODES.has(parseDatabaseError(error).code ?? '')
}
