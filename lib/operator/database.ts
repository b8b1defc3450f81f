import { type LastRun, readArchiver, readDatabaseAge, readLastRuns } from '#lib/backup/records.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { env } from '#lib/core/settings.ts'
import { type Database, db, Prisma } from '#lib/db/client.ts'
import { assessClocks, isWrong, levelOf, listClocks, type ProcessClock } from '#lib/db/clock.ts'
import { canRunOn, listMigrations, type RecordedMigration } from '#lib/db/migrate.ts'
import { inspectRole } from '#lib/db/roles.ts'
import { describeUnsafeServer, type ServerSettings } from '#lib/db/server.ts'
import { queryRows } from '#lib/db/sql.ts'
import { withSnapshot } from '#lib/ledger/check.ts'
import type { Finding } from '#lib/operator/schema.ts'

const CONNECTIONS_WARNING_SHARE = 0.8
const CONNECTIONS_PROBLEM_SHARE = 0.95
/** A long transaction prevents vacuum from removing dead rows, which slows down every query. */
const TRANSACTION_WARNING_S = 60
const TRANSACTION_PROBLEM_S = 600

interface TableSize {
  table: string
  bytes: number
  text: string
}

/** Returns the largest tables with their indexes and, if partitioned, all partitions. */
export function readLargestTables(limit: number): Promise<TableSize[]> {
  return queryRows<TableSize>(Prisma.sql`
    SELECT json_build_object('table', s.name, 'bytes', s.bytes,
      'text', pg_size_pretty(s.bytes))::text AS json
    FROM (
      SELECT COALESCE(p.relname, c.relname) AS name,
        sum(pg_total_relation_size(c.oid))::bigint AS bytes
      FROM pg_class c
      LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
      GROUP BY 1 ORDER BY 2 DESC LIMIT ${limit}) s`)
}

const TABLES_NAMED_MAX = 4

export async function examineDatabase(): Promise<Finding> {
  const [figures] = await queryRows<{ version: string; size_bytes: number }>(Prisma.sql`
    SELECT json_build_object('version', current_setting('server_version'),
      'size_bytes', pg_database_size(current_database()))::text AS json`)
  const largest = await readLargestTables(TABLES_NAMED_MAX)
  const names = largest.map(({ table, text }) => `${table} ${text}`).join(', ')
  return { level: 'ok', state: 'database_stands', figures: { ...figures, names } }
}

interface Sessions {
  used: number
  most: number
  longest_s: number | null
}

export async function examineSessions(): Promise<{ connections: Finding; transactions: Finding }> {
  const [row] = await queryRows<Sessions>(Prisma.sql`
    SELECT json_build_object('used', (SELECT sum(numbackends) FROM pg_stat_database),
      'most', current_setting('max_connections')::int,
      'longest_s', max(extract(epoch FROM now() - s.xact_start))
        FILTER (WHERE s.datname = current_database() AND s.pid <> pg_backend_pid()))::text AS json
    FROM pg_stat_activity s WHERE s.backend_type = 'client backend'`)
  const { used, most, longest_s } = row ?? { used: 0, most: 1, longest_s: null }
  const share = used / most
  const longest = Math.max(0, Math.round(longest_s ?? 0))
  return {
    connections:
      share < CONNECTIONS_WARNING_SHARE
        ? { level: 'ok', state: 'connections_left', figures: { used, most } }
        : {
            level: share < CONNECTIONS_PROBLEM_SHARE ? 'warning' : 'problem',
            state: 'connections_scarce',
            figures: { used, most },
          },
    transactions:
      longest < TRANSACTION_WARNING_S
        ? { level: 'ok', state: 'transactions_short', figures: { longest_s: longest } }
        : {
            level: longest < TRANSACTION_PROBLEM_S ? 'warning' : 'problem',
            state: 'transaction_long',
            figures: { longest_s: longest },
          },
  }
}

export async function examineDurability(): Promise<Finding> {
  const [settings] = await queryRows<ServerSettings>(Prisma.sql`
    SELECT json_build_object('versionNumber', current_setting('server_version_num')::int,
      'fsync', current_setting('fsync'), 'fullPageWrites', current_setting('full_page_writes'),
      'synchronousCommit', current_setting('synchronous_commit'))::text AS json`)
  if (!settings) throw new Invariant('PostgreSQL returned no row for its settings')
  return assessDurability(settings)
}

export function assessDurability(settings: ServerSettings): Finding {
  const { fsync, fullPageWrites, synchronousCommit } = settings
  const figures = { fsync, full_page_writes: fullPageWrites, synchronous_commit: synchronousCommit }
  return describeUnsafeServer(settings) === null
    ? { level: 'ok', state: 'durable', figures }
    : { level: 'problem', state: 'not_durable', figures }
}

export async function examineClocks(): Promise<Finding> {
  const clocks = await listClocks()
  const state = assessClocks(clocks)
  const isOff = ({ offsetMs }: ProcessClock) => levelOf(offsetMs) !== 'right'
  const named = clocks.filter(state === 'clock_wrong' ? isWrong : isOff)
  const names = named.map(
    ({ host, pid, offsetMs }) => `${host} (${pid}) ${signedSeconds(offsetMs)}`,
  )
  const figures = { processes: clocks.length, names: names.join(', ') }
  if (state === 'clocks_agree') return { level: 'ok', state, figures }
  return { level: state === 'clock_off' ? 'warning' : 'problem', state, figures }
}

function signedSeconds(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${Math.abs(Math.round(ms / 1_000))} s`
}

export async function examineMigrations(): Promise<Finding> {
  const rows = await db().$queryRaw<RecordedMigration[]>`
    SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations
    WHERE rolled_back_at IS NULL`
  const migrations = listMigrations()
  const known = new Set(migrations)
  const applied = new Set(rows.filter(row => row.finished_at).map(row => row.migration_name))
  const waiting = migrations.filter(name => !applied.has(name))
  const failed = rows.find(row => !row.finished_at)
  const newer = rows.filter(row => !known.has(row.migration_name))
  const unfit = newer.find(row => !canRunOn(row, known))
  const figures = {
    applied: applied.size,
    waiting: waiting.length,
    latest: migrations.at(-1) ?? '',
  }
  const withName = (name: string) => ({ ...figures, name })
  if (failed)
    return { level: 'problem', state: 'migration_failed', figures: withName(failed.migration_name) }
  if (unfit)
    return { level: 'problem', state: 'database_newer', figures: withName(unfit.migration_name) }
  if (waiting.length > 0)
    return { level: 'problem', state: 'migrations_wait', figures: withName(waiting.join(', ')) }
  const [first] = newer
  return first
    ? { level: 'warning', state: 'version_older', figures: withName(first.migration_name) }
    : { level: 'ok', state: 'migrated', figures }
}

export async function examineRole(): Promise<Finding> {
  const { role, isOwner, excess, missing, foreign } = await inspectRole()
  const differences = [...excess, ...foreign, ...missing]
  const figures = { role, names: differences.join(', ') }
  if (isOwner) return { level: 'warning', state: 'role_owner', figures }
  return differences.length > 0
    ? { level: 'warning', state: 'role_excessive', figures }
    : { level: 'ok', state: 'role_limited', figures }
}

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
