import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, DatabaseError } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { applyFunction, describeFunction, listOutdated, readFunctions } from '#lib/db/functions.ts'
import {
  CREATE_RECORD_TABLE,
  canRunOn,
  isRecorded,
  type Migration,
  type RecordedMigration,
  recordMigration,
} from '#lib/db/migration-records.ts'
import { withMigratorLock } from '#lib/db/migrator-lock.ts'
import { isPooled } from '#lib/db/pooler.ts'
import { withoutLimits } from '#lib/db/role-settings.ts'
import { requireDurableServer } from '#lib/db/server.ts'
import { withClient } from '#lib/db/with-client.ts'

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
    `${pending} migrations are pending, and the role ${rows[0].role} may not apply them: set DATABASE_OWNER_URL to the URL of the role that owns the tables`,
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
