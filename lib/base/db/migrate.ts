import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, DatabaseError } from 'pg'
import { applyFunctions } from '#lib/base/db/functions.ts'
import { requireDurableServer } from '#lib/base/db/server.ts'
import { transactionOf } from '#lib/base/db/transaction.ts'
import { withClient } from '#lib/base/db/with-client.ts'
import { setupError } from '#lib/base/errors.ts'

/** Prisma's advisory lock id: `prisma migrate deploy` and this migrator exclude each other. */
const LOCK_ID = 72_707_369
const FOLDER = 'prisma/migrations'
/** Maximum wait for a table lock: other statements queue behind a waiting migration. */
const LOCK_WAIT_MS = 2_000
const LOCK_ATTEMPTS_MAX = 60
/** Pause between two attempts, in which the queued statements run. */
const LOCK_REST_MS = 1_000
/** Pause between two attempts to be the only migrator. */
const MIGRATOR_REST_MS = 100
/** lock_not_available and deadlock_detected. */
const LOCK_CONFLICT = /^(55P03|40P01)$/
/** A migration of this one statement, which runs in no transaction and keeps no writer out. */
const INDEX_BUILD = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)\s+ON [^;]+;?$/

interface Migration {
  name: string
  sql: string
  checksum: string
}

interface RecordedMigration {
  migration_name: string
  checksum: string
  finished_at: Date | null
}

/**
 * Applies migrations like Prisma, under one lock, each in a transaction, unless it builds an index
 * concurrently; then the functions.
 */
export async function migrate(
  url: string,
  folder = FOLDER,
  finish: (client: Client) => Promise<void> = async () => {},
): Promise<string[]> {
  return withClient(url, 'DATABASE_URL', async client => {
    await requireDurableServer(client)
    await client.query('SET statement_timeout = 0')
    await lockMigrations(client)
    await createRecordTable(client)
    const pending = await findPending(client, readMigrations(folder))
    if (pending.length > 0) await requireOwner(client, pending.length)
    for (const migration of pending) await applyMigration(client, migration)
    const functions = await applyFunctions(client, join(folder, '../functions'))
    await finish(client)
    return [...pending.map(migration => migration.name), ...functions]
  })
}

/** Polls: a statement that waits for the lock would be waited for by an index build of its holder. */
async function lockMigrations(client: Client): Promise<void> {
  const tryLock = () => client.query('SELECT pg_try_advisory_lock($1) AS held', [LOCK_ID])
  while (!(await tryLock()).rows[0].held) await sleep(MIGRATOR_REST_MS)
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

/** Not CREATE … IF NOT EXISTS, which the application's role may not run even if it exists. */
async function createRecordTable(client: Client): Promise<void> {
  const { rows } = await client.query(`SELECT to_regclass('_prisma_migrations') AS found`)
  if (rows[0].found !== null) return
  await requireOwner(client, 1)
  await client.query(CREATE_RECORD_TABLE)
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

async function findPending(client: Client, migrations: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<RecordedMigration>(
    `SELECT migration_name, checksum, finished_at FROM _prisma_migrations
     WHERE rolled_back_at IS NULL ORDER BY started_at`,
  )
  const byName = new Map(migrations.map(migration => [migration.name, migration]))
  for (const row of rows) {
    const migration = byName.get(row.migration_name)
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
  return migrations.filter(migration => !applied.has(migration.name))
}

async function applyMigration(client: Client, migration: Migration, attempt = 1): Promise<void> {
  const statement = migration.sql.replace(/^--.*$/gm, '').trim()
  const index = INDEX_BUILD.exec(statement)?.[1]
  try {
    if (index) return await buildIndex(client, migration, index)
    await transactionOf(client, async () => {
      await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`)
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
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
  await client.query(migration.sql)
  await recordMigration(client, migration)
}

async function recordMigration(client: Client, { name, checksum }: Migration): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations
       (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  )
}

const CREATE_RECORD_TABLE = `CREATE TABLE _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0)`
