import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, DatabaseError } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { transactionOf } from '#lib/db/client.ts'
import { isPooled, requireDurableServer, withClient, withoutLimits } from '#lib/db/server.ts'

const FOLDER = 'prisma/migrations'
/** Maximum wait for a table lock: other statements queue behind a waiting migration. */
const LOCK_WAIT_MS = 1_000
const LOCK_ATTEMPTS_MAX = 60
/** Pause between two attempts, in which the queued statements run. */
const LOCK_REST_MS = 1_000
/** lock_not_available and deadlock_detected. */
const LOCK_CONFLICT = /^(55P03|40P01)$/
/** A migration of this one statement, which runs in no transaction and keeps no writer out. */
const INDEX_BUILD = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)\s+ON [^;]+;?$/

/**
 * Work after the migrations. If it is done already, a start does not take the lock for it. Left out on
 * the database of a newer version, whose grants and settings this one does not know.
 */
export interface Finish {
  isDone: (client: Client) => Promise<boolean>
  run: (client: Client) => Promise<void>
}

interface MigrateOptions {
  folder?: string
  finish?: Finish
  /** Whether this process may change the database; otherwise it is refused if something is left to do. */
  isAllowed?: boolean
}

const NOTHING: Finish = { isDone: async () => true, run: async () => {} }

/**
 * Applies migrations like Prisma, each in a transaction, unless it builds an index concurrently;
 * then the functions. Takes the migrators' lock only if something is left to do.
 */
export async function migrate(
  url: string,
  { folder = FOLDER, finish = NOTHING, isAllowed = true }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = readMigrations(folder)
  const functions = readFunctions(join(folder, '../functions'))
  return withClient(url, 'DATABASE_URL', async client => {
    await requireDurableServer(client)
    const list = async () => ({
      ...(await compareRecords(client, migrations)),
      outdated: await listOutdated(client, functions),
    })
    const { pending, outdated, isNewer } = await list()
    const names = [...pending.map(({ name }) => name), ...outdated.map(describeFunction)]
    if (names.length === 0 && (isNewer || (await finish.isDone(client)))) return []
    if (!isAllowed) throw refuseToChange(names)
    if (pending.length > 0) await requireOwner(client, pending.length)
    return withMigratorLock(url, async () => {
      const left = await list()
      if (left.pending.length > 0) await client.query(CREATE_RECORD_TABLE)
      for (const migration of left.pending) await applyMigration(client, migration)
      for (const definition of left.outdated) await applyFunction(client, definition)
      if (!left.isNewer) await finish.run(client)
      return [...left.pending.map(({ name }) => name), ...left.outdated.map(describeFunction)]
    })
  })
}

/** Returns what migrating would apply. */
export async function listPending(client: Client, folder = FOLDER) {
  const { pending } = await compareRecords(client, readMigrations(folder))
  const outdated = await listOutdated(client, readFunctions(join(folder, '../functions')))
  return { pending, outdated }
}

function refuseToChange(names: string[]): Error {
  const left = names.length > 0 ? names.join(', ') : 'the grants and settings of its role'
  return setupError(
    `The database needs ${left}, and MIGRATE is false: run \`npm run -s troco -- migrate\`, then start again`,
  )
}

export function listMigrations(folder = FOLDER): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => entry.name)
    .sort()
}

function readMigrations(folder: string): Migration[] {
  return listMigrations(folder).map(name => {
    const bytes = readFileSync(join(folder, name, 'migration.sql'))
    const checksum = createHash('sha256').update(bytes).digest('hex')
    return { name, sql: bytes.toString('utf8'), checksum }
  })
}

async function requireOwner(client: Client, pending: number): Promise<void> {
  const { rows } = await client.query(
    `SELECT has_schema_privilege(current_schema(), 'CREATE') AS may, current_user AS role`,
  )
  if (rows[0].may) return
  throw setupError(
    `migrations are pending (${pending}), and the role ${rows[0].role} may not apply them: set DATABASE_OWNER_URL to the URL of the role that owns the tables`,
  )
}

/** `isNewer`: the database has migrations that this version does not have, and runs with it. */
async function compareRecords(
  client: Client,
  migrations: Migration[],
): Promise<{ pending: Migration[]; isNewer: boolean }> {
  const { rows: tables } = await client.query(`SELECT to_regclass('_prisma_migrations') AS found`)
  if (tables[0].found === null) return { pending: migrations, isNewer: false }
  const { rows } = await client.query<RecordedMigration>(
    `SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations
     WHERE rolled_back_at IS NULL ORDER BY started_at`,
  )
  const byName = new Map(migrations.map(migration => [migration.name, migration]))
  const first = rows.at(0)
  if (first && isBaseline(migrations.at(0)) && first.checksum !== migrations[0]?.checksum)
    throw setupError(
      'The database or data folder was made by a version of Troco before 1.0 with another schema, which cannot be upgraded: start with an empty one (another DATABASE_URL or TROCO_DATA), or start the version that made it',
    )
  for (const row of rows) {
    const migration = byName.get(row.migration_name)
    if (!migration && canRunOn(row, byName)) continue
    if (!migration)
      throw setupError(
        `The database was migrated by a newer version of Troco (${row.migration_name}): start that version`,
      )
    if (!row.finished_at) {
      throw setupError(
        `Migration ${row.migration_name} failed earlier and is incomplete: restore a backup, then start again`,
      )
    }
    if (migration.checksum !== row.checksum) {
      throw setupError(
        `Migration ${row.migration_name} was changed after it was applied: restore the released file`,
      )
    }
  }
  const applied = new Set(rows.map(row => row.migration_name))
  return {
    pending: migrations.filter(migration => !applied.has(migration.name)),
    isNewer: rows.some(row => !byName.has(row.migration_name)),
  }
}

/** Until version 1.0 the baseline is edited in place, so a database made by another state of it is refused. */
function isBaseline(migration?: Migration): boolean {
  return migration?.name.endsWith('_baseline') ?? false
}

async function applyMigration(client: Client, migration: Migration, attempt = 1): Promise<void> {
  const statement = migration.sql.replace(/^--.*$/gm, '').trim()
  const index = INDEX_BUILD.exec(statement)?.[1]
  try {
    if (index) return await buildIndex(client, migration, index)
    await withoutLimits(client, async () => {
      await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`)
      // Another migrator may have begun if the connection that holds the lock was lost.
      await client.query('LOCK TABLE _prisma_migrations IN SHARE ROW EXCLUSIVE MODE')
      if (await isRecorded(client, migration)) return
      await client.query(migration.sql)
      await recordMigration(client, migration)
    })
  } catch (cause) {
    if (LOCK_CONFLICT.test((cause as DatabaseError).code ?? '') && attempt < LOCK_ATTEMPTS_MAX) {
      await sleep(LOCK_REST_MS)
      return applyMigration(client, migration, attempt + 1)
    }
    const reason = (cause as Error).message
    throw setupError(`Migration ${migration.name} failed and was rolled back: ${reason}`)
  }
}

/** An attempt that was interrupted has left an invalid index, or one that is not recorded. */
async function buildIndex(client: Client, migration: Migration, index: string): Promise<void> {
  // Behind a pooler the rest of a session belongs to others: there, the owner's limit of an hour holds.
  const changesLimit = !(await isPooled(client))
  if (changesLimit) await client.query('SET statement_timeout = 0')
  try {
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
    await client.query(migration.sql)
    await recordMigration(client, migration)
  } finally {
    if (changesLimit) await client.query('RESET statement_timeout').catch(() => {})
  }
}

interface Migration {
  name: string
  sql: string
  checksum: string
}

export interface RecordedMigration {
  migration_name: string
  checksum: string
  finished_at: Date | null
  logs: string | null
}

/** Line of a migration after which versions that lack another one cannot run. */
const REQUIREMENT = /^-- Requires (\w+)$/m
/** Stored with each migration, for versions that do not have it; then what they need to run. */
const RUNS_WITH = 'runs with versions that have: '

/** Returns whether this version, which lacks the migration, runs on its schema. */
export function canRunOn(
  { finished_at, logs }: RecordedMigration,
  known: { has: (name: string) => boolean },
): boolean {
  if (!finished_at || !logs?.startsWith(RUNS_WITH)) return false
  const required = logs.slice(RUNS_WITH.length)
  return required === '' || known.has(required)
}

/** Returns the migration that a version must have to run on the schema after this one. */
export function readRequirement(sql: string): string | null {
  return REQUIREMENT.exec(sql)?.[1] ?? null
}

export async function recordMigration(
  client: Client,
  { name, checksum, sql }: Migration,
): Promise<void> {
  const required = readRequirement(sql) ?? ''
  await client.query(
    `INSERT INTO _prisma_migrations
       (id, checksum, migration_name, started_at, finished_at, applied_steps_count, logs)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1, $4)`,
    [randomUUID(), checksum, name, RUNS_WITH + required],
  )
}

async function isRecorded(client: Client, { name }: Migration): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM _prisma_migrations
     WHERE migration_name = $1 AND rolled_back_at IS NULL AND finished_at IS NOT NULL`,
    [name],
  )
  return rowCount !== 0
}

/** Not on every start: the application's role may not run it even if the table exists. */
const CREATE_RECORD_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0)`

/** Defined by the file of the same name in prisma/functions. */
interface DatabaseFunction {
  name: string
  /** Increases with each change; only a higher version replaces the function in the database. */
  version: number
  /** Truncated SHA-256 of the statement, without the comments above it. */
  checksum: string
  statement: string
}

const FUNCTION_FILE =
  /^-- version ([1-9]\d*)\n(?:--.*\n)*(CREATE OR REPLACE FUNCTION (\w+)\([\s\S]+;\n)$/

export function readFunctions(folder: string): DatabaseFunction[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map(file => parseFunction(file, readFileSync(join(folder, file), 'utf8')))
}

function parseFunction(file: string, text: string): DatabaseFunction {
  const name = basename(file, '.sql')
  const [, version, statement = '', createdName] = FUNCTION_FILE.exec(text) ?? []
  if (createdName !== name || `${name}.sql` !== file) {
    throw setupError(`${file} must begin with "-- version N" and then create the function ${name}`)
  }
  const checksum = createHash('sha256').update(statement).digest('hex').slice(0, 12)
  return { name, version: Number(version), checksum, statement }
}

/** Returns those to create or replace. COMMENT ON FUNCTION has the version: dump and DROP include it. */
async function listOutdated(
  client: Client,
  functions: DatabaseFunction[],
): Promise<DatabaseFunction[]> {
  if (functions.length === 0) return []
  const installed = await readInstalledVersions(client)
  return functions.filter(definition => isNewer(definition, installed.get(definition.name)))
}

function describeFunction({ name, checksum }: DatabaseFunction): string {
  return `functions/${name}@${checksum}`
}

async function readInstalledVersions(client: Client): Promise<Map<string, string | null>> {
  const { rows } = await client.query<{ name: string; comment: string | null }>(
    `SELECT proname AS name, obj_description(oid, 'pg_proc') AS comment FROM pg_proc
     WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'troco\\_%'`,
  )
  return new Map(rows.map(({ name, comment }) => [name, comment]))
}

/** A higher installed version stays: a newer Troco installed it, and older calls still work. */
function isNewer({ name, version, checksum }: DatabaseFunction, comment?: string | null): boolean {
  const [, installedVersion, installedChecksum] =
    /^version (\d+), sha256 (\w+)$/.exec(comment ?? '') ?? []
  if (installedVersion === undefined || version > Number(installedVersion)) return true
  if (version === Number(installedVersion) && checksum !== installedChecksum) {
    throw setupError(
      `Function ${name} was changed after it was applied: raise the version in its file`,
    )
  }
  return false
}

/** Requires the migrators' lock. */
async function applyFunction(client: Client, definition: DatabaseFunction): Promise<void> {
  const { name, version, checksum, statement } = definition
  try {
    await transactionOf(client, async () => {
      await client.query(statement)
      await client.query(`COMMENT ON FUNCTION ${name} IS 'version ${version}, sha256 ${checksum}'`)
      // Runs as the owner: only the application's role may execute it (lib/db/roles.ts).
      if (/\bSECURITY DEFINER\b/.test(statement))
        await client.query(`REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`)
    })
  } catch (cause) {
    const reason = (cause as Error).message
    throw setupError(`Function ${name} failed and was rolled back: ${reason}`)
  }
}

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
