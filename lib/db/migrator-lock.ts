import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { withoutLimits } from '#lib/db/role-settings.ts'
import { withClient } from '#lib/db/with-client.ts'

/** Prisma's advisory lock id: `prisma migrate deploy` and this migrator exclude each other. */
const LOCK_ID = 72_707_369
/** Without parameters, which would keep its snapshot: an index build would wait for its end. */
const TRY_LOCK = `SELECT pg_try_advisory_xact_lock(${LOCK_ID}) AS held`
const POLL_MS = 100
const WAIT_MAX_MINUTES = 10

/**
 * Works as the only migrator. A transaction of a connection of its own holds the lock, so that it
 * ends with either, also behind a pooler, which gives each transaction another session.
 */
export function withMigratorLock<T>(
  url: string,
  work: () => Promise<T>,
  waitMaxMinutes = WAIT_MAX_MINUTES,
): Promise<T> {
  return withClient(url, 'DATABASE_URL', async client => {
    const began = Date.now()
    for (let isReported = false; ; isReported = true) {
      const attempt = await workIfFree(client, work)
      if (attempt) return attempt.result
      const holder = await describeHolder(client)
      if (!isReported) log().warn({ holder }, 'another process migrates the database: waiting')
      if (Date.now() - began > waitMaxMinutes * 60_000) {
        throw setupError(
          `Another process has held the lock of migrations for ${waitMaxMinutes} minutes (${holder ?? 'unknown'}): wait until it has finished, or end that session, then start again`,
        )
      }
      await sleep(POLL_MS)
    }
  })
}

/** Ends its transaction if the lock is taken: an index build of the holder would wait for it. */
function workIfFree<T>(client: Client, work: () => Promise<T>): Promise<{ result: T } | null> {
  return withoutLimits(client, async () => {
    const { rows } = await client.query(TRY_LOCK)
    return rows[0].held ? { result: await work() } : null
  })
}

async function describeHolder(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ holder: string }>(
    `SELECT format('session %s of %s', a.pid, a.usename) AS holder
     FROM pg_locks l JOIN pg_stat_activity a USING (pid)
     WHERE l.locktype = 'advisory' AND l.granted AND l.objid = $1 AND l.database = a.datid
       AND a.datname = current_database()`,
    [LOCK_ID],
  )
  return rows[0]?.holder ?? null
}
