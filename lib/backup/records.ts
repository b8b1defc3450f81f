import { ask } from '#lib/backup/recover.ts'
import { setupError } from '#lib/core/errors.ts'
import { logFailure } from '#lib/core/log.ts'
import { type Database, db, Prisma, type Tx } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

/** Maximum length of a stored problem; the command prints all of it. */
const PROBLEM_LENGTH_MAX = 500

interface Run {
  kind: 'backup' | 'drill'
  /** Absent: now. */
  beganAt?: Date
  bytes: number
  /** Of a drill: the last commit that the backup and its WAL contain. */
  recoveredTo?: Date | null
  /** Why it failed. */
  problem?: string | null
}

/** Records a backup or a drill, for the health page. */
export async function recordRun(run: Run, database: Database = db()): Promise<void> {
  const { kind, beganAt = null, bytes, recoveredTo = null } = run
  const problem = run.problem?.slice(0, PROBLEM_LENGTH_MAX) ?? null
  await database.$executeRaw`
    INSERT INTO backup_runs (kind, began_at, bytes, recovered_to, problem)
    VALUES (${kind}, COALESCE(${beganAt}, now()), ${bytes}, ${recoveredTo}, ${problem})`
}

/** Records a backup or drill that fails, if the database can be reached, and throws the failure. */
export async function recordFailure<T>(kind: Run['kind'], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const problem = (error as Error).message
    await recordRun({ kind, bytes: 0, problem }).catch(failure =>
      logFailure(failure, 'the failure was not recorded', { kind }),
    )
    throw error
  }
}

export interface LastRun {
  kind: 'backup' | 'drill'
  age_s: number
  took_s: number
  bytes: number
  problem: string | null
}

/** Returns the newest backup and drill that succeeded, and that failed, the newest first. */
export function readLastRuns(): Promise<LastRun[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('kind', kind, 'bytes', bytes, 'problem', problem,
      'age_s', greatest(0, extract(epoch FROM now() - began_at)::int),
      'took_s', greatest(0, extract(epoch FROM ended_at - began_at)::int))::text AS json
    FROM (SELECT DISTINCT ON (kind, problem IS NULL) * FROM backup_runs
      ORDER BY kind, problem IS NULL, began_at DESC) AS newest
    ORDER BY began_at DESC`)
}

/** Returns the seconds since the first migration. */
export async function readDatabaseAge(): Promise<number> {
  const [row] = await db().$queryRaw<{ age_s: number }[]>`
    SELECT extract(epoch FROM now() - min(started_at))::int AS age_s FROM _prisma_migrations`
  return row?.age_s ?? 0
}

interface ArchiverState {
  failing_s: number | null
}

/** Returns since when PostgreSQL has failed to archive its WAL; null if the last file was archived. */
export async function readArchiver(): Promise<ArchiverState> {
  const [row] = await queryRows<ArchiverState>(Prisma.sql`
    SELECT json_build_object('failing_s', CASE WHEN last_failed_time > COALESCE(last_archived_time, '-infinity')
        THEN extract(epoch FROM now() - COALESCE(last_archived_time, stats_reset, pg_postmaster_start_time()))::int END)::text AS json
    FROM pg_stat_archiver`)
  return row ?? { failing_s: null }
}

/** Keeps servers and workers from starting with this database, until `restore begin` removes the row. */
export async function markRestored(url: string, to: Date): Promise<void> {
  const sql = 'INSERT INTO restore_marks (restored_to) VALUES ($1) ON CONFLICT DO NOTHING'
  await ask(url, sql, [to])
}

/** Removes the mark. Returns the time to which the database was restored, if it had one. */
export async function takeRestoreMark(tx: Tx): Promise<Date | null> {
  const [mark] = await tx.$queryRaw<{ to: Date | null }[]>`
    WITH taken AS (DELETE FROM restore_marks RETURNING restored_to)
    SELECT min(restored_to) AS to FROM taken`
  return mark?.to ?? null
}

/** Throws if the database was restored to an earlier time and `restore begin` has not run since. */
export async function requireNoRestoreMark(): Promise<void> {
  const [mark] = await db().$queryRaw<{ to: Date }[]>`
    SELECT restored_to AS to FROM restore_marks ORDER BY restored_to LIMIT 1`
  if (mark) throw setupError(describeNextStep(mark.to))
}

/** The sentence that says what follows a restore. */
export function describeNextStep(to: Date): string {
  return `The database was restored to ${to.toISOString()}. Before it serves: npm run -s troco -- restore begin --to ${to.toISOString()}`
}
