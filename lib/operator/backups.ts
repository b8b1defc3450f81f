import { type LastRun, readArchiver, readDatabaseAge, readLastRuns } from '#lib/backup/records.ts'
import { env } from '#lib/core/settings.ts'
import { type Database, Prisma } from '#lib/db/client.ts'
import { withSnapshot } from '#lib/ledger/verify.ts'
import type { Finding } from '#lib/operator/schema.ts'

const DAY_S = 86_400
/** A backup a day may take a while, or begin a little later. */
const OLD_AFTER_S = DAY_S + 3_600

/** Tables from which nothing is ever deleted: a restored one has no fewer rows than at the backup. */
const GROWING_TABLES = ['accounts', 'ledger_transfers', 'ledger_entries', 'audit_log'] as const

/** Counts without the time limit of requests. */
export async function countRows(database: Database): Promise<Record<string, number>> {
  return withSnapshot(database, async tx => {
    const counts: Record<string, number> = {}
    for (const table of GROWING_TABLES) {
      const [row] = await tx.$queryRaw<{ rows: number }[]>(
        Prisma.sql`SELECT count(*)::int AS rows FROM ${Prisma.raw(table)}`,
      )
      counts[table] = row?.rows ?? 0
    }
    return counts
  })
}

/** Judges the newest backup and the newest drill. An installation for evaluation needs none. */
export async function examineBackups(): Promise<{ backups: Finding; drill: Finding }> {
  const runs = await readLastRuns()
  const backup = runs.find(({ kind }) => kind === 'backup')
  const good = runs.find(({ kind, problem }) => kind === 'backup' && problem === null)
  const drill = runs.find(({ kind }) => kind === 'drill')
  const { PGBACKREST_STANZA, TROCO_ENV } = env()
  const isSetUp = PGBACKREST_STANZA !== undefined || backup !== undefined
  const isNeeded = isSetUp || TROCO_ENV === 'production'
  const { failing_s } = await readArchiver()
  return {
    backups: isNeeded
      ? assessBackup({ last: backup, good }, failing_s, await readDatabaseAge())
      : { level: 'warning', state: 'backups_none', figures: {} },
    drill: assessDrill(isNeeded, drill),
  }
}

function assessBackup(
  { last, good }: { last: LastRun | undefined; good: LastRun | undefined },
  failing_s: number | null,
  databaseAgeS: number,
): Finding {
  if (failing_s !== null)
    return { level: 'problem', state: 'archive_failing', figures: { failing_s } }
  if (!last) {
    const isLate = databaseAgeS > OLD_AFTER_S || env().PGBACKREST_STANZA !== undefined
    const level = isLate ? 'problem' : 'warning'
    return { level, state: 'backup_missing', figures: { age_s: databaseAgeS } }
  }
  const { age_s, bytes, took_s, problem } = last
  if (problem !== null) {
    const others = { has_other: String(good !== undefined), good_s: good?.age_s ?? 0 }
    return { level: 'problem', state: 'backup_failed', figures: { age_s, problem, ...others } }
  }
  const figures = { age_s, size_bytes: bytes, took_s }
  return age_s > OLD_AFTER_S
    ? { level: 'problem', state: 'backup_old', figures }
    : { level: 'ok', state: 'backup_fresh', figures }
}

function assessDrill(isNeeded: boolean, last: LastRun | undefined): Finding {
  if (!last)
    return isNeeded
      ? { level: 'warning', state: 'drill_missing', figures: {} }
      : { level: 'ok', state: 'drill_none', figures: {} }
  const { age_s, took_s, problem } = last
  return problem === null
    ? { level: 'ok', state: 'drill_passed', figures: { age_s, took_s } }
    : { level: 'problem', state: 'drill_failed', figures: { age_s, problem } }
}
