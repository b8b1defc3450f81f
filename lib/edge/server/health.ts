import { db } from '#lib/base/db/client.ts'
import { listMigrations } from '#lib/base/db/migrate.ts'
import { isDatabaseUnavailable, parseDatabaseError } from '#lib/base/errors.ts'

const WORKER_SILENT_MAX_S = 60

interface Health {
  status: 200 | 503
  body: { status: 'ok' } | { status: 'unavailable'; reason: string }
}

let runningCheck: Promise<Health> | undefined

/**
 * 200: this instance can serve requests (database reachable and migrated, a worker alive). Probes
 * have no rate limit, so those that arrive during a check share its result.
 */
export function checkReadiness(): Promise<Health> {
  runningCheck ??= runCheck().finally(() => {
    runningCheck = undefined
  })
  return runningCheck
}

async function runCheck(): Promise<Health> {
  const reason = await findUnreadyReason().catch(describeFault)
  if (reason === null) return { status: 200, body: { status: 'ok' } }
  return { status: 503, body: { status: 'unavailable', reason } }
}

async function findUnreadyReason(): Promise<string | null> {
  const [row] = await db().$queryRaw<{ applied: string[] | null; silent: number | null }[]>`
    SELECT
      (SELECT array_agg(migration_name) FROM _prisma_migrations
        WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL) AS applied,
      (SELECT extract(epoch FROM now() - max(beat_at))::float8 FROM worker_heartbeats) AS silent`
  const applied = new Set(row?.applied ?? [])
  const missing = listMigrations().filter(name => !applied.has(name))
  if (missing.length > 0) return `migrations are pending: ${missing.join(', ')}`
  const silentS = row?.silent ?? null
  if (silentS === null) return 'no worker has been seen'
  if (silentS > WORKER_SILENT_MAX_S)
    return `no worker has been seen for ${Math.round(silentS)} seconds`
  return null
}

function describeFault(error: unknown): string {
  const code = parseDatabaseError(error).code
  if (code === '42P01') return 'the database has not been migrated'
  if (isDatabaseUnavailable(error)) return 'the database is unreachable'
  return 'the database returned an unexpected error'
}
