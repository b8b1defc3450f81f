import { isDatabaseUnavailable, parseDatabaseError } from '#lib/core/errors.ts'
import { db } from '#lib/db/client.ts'
import { findClockFault } from '#lib/db/clock-watch.ts'
import { listMigrations } from '#lib/db/migrate.ts'

interface Health {
  status: 200 | 503
  body: { status: 'ok' } | { status: 'unavailable'; reason: string }
}

let runningCheck: Promise<Health> | undefined

/**
 * 200: this process can serve requests: it is not stopping, the database is reachable and migrated, and
 * its clock is not the only wrong one. A worker that is missing takes no process out of service; the
 * health page reports it. Probes have no rate limit, so those that arrive during a check share its result.
 */
export async function checkReadiness(isDraining: boolean): Promise<Health> {
  if (isDraining) return unavailable('the process is stopping')
  runningCheck ??= runCheck().finally(() => {
    runningCheck = undefined
  })
  return runningCheck
}

const unavailable = (reason: string): Health => ({
  status: 503,
  body: { status: 'unavailable', reason },
})

async function runCheck(): Promise<Health> {
  const reason = await findUnreadyReason().catch(describeFault)
  return reason === null ? { status: 200, body: { status: 'ok' } } : unavailable(reason)
}

async function findUnreadyReason(): Promise<string | null> {
  const [row] = await db().$queryRaw<{ applied: string[] | null }[]>`
    SELECT array_agg(migration_name) AS applied FROM _prisma_migrations
    WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`
  const applied = new Set(row?.applied ?? [])
  const missing = listMigrations().filter(name => !applied.has(name))
  return missing.length > 0 ? `migrations are pending: ${missing.join(', ')}` : findClockFault()
}

function describeFault(error: unknown): string {
  const code = parseDatabaseError(error).code
  if (code === '42P01') return 'the database has not been migrated'
  if (isDatabaseUnavailable(error)) return 'the database is unreachable'
  return 'the database returned an unexpected error'
}
