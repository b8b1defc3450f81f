import { Client } from 'pg'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { connect, type Database } from '#lib/db/client.ts'
import { prepareDatabase } from '#lib/db/roles.ts'

/** A migrated database without connections, so that it can be copied at any time. */
const TEMPLATE = 'migrated'

/** Migrates the run's database and copies it as the template for single tests. */
export async function prepareTemplateDatabase(url: string, ownerUrl: string): Promise<void> {
  await prepareDatabase({ url, ownerUrl })
  const name = new URL(url).pathname.slice(1)
  // In every test, a statement whose session is not in UTC is wrong by three hours.
  await runAt(ownerUrl, `ALTER DATABASE ${name} SET timezone TO 'America/Sao_Paulo'`)
  await createDatabase(withDatabaseName(ownerUrl, 'postgres'), TEMPLATE, name)
}

/**
 * Creates a database for one test on the run's server; returns its URL for the application's role.
 * `migrated: false` leaves it empty and returns the owner's URL, as only the owner can migrate it.
 */
export async function makeDatabase(options: { migrated?: boolean } = {}): Promise<string> {
  const isMigrated = options.migrated ?? true
  const { DATABASE_URL = '', DATABASE_OWNER_URL = '' } = env()
  const name = `test_${newId().replaceAll('-', '')}`
  await createDatabase(DATABASE_OWNER_URL, name, isMigrated ? TEMPLATE : undefined)
  return withDatabaseName(isMigrated ? DATABASE_URL : DATABASE_OWNER_URL, name)
}

/** Copies the current database, to which nobody may be connected; returns the URL of the copy. */
export async function copyDatabase(): Promise<string> {
  const { DATABASE_URL = '', DATABASE_OWNER_URL = '' } = env()
  const name = `test_${newId().replaceAll('-', '')}`
  await createDatabase(DATABASE_OWNER_URL, name, new URL(DATABASE_URL).pathname.slice(1))
  return withDatabaseName(DATABASE_URL, name)
}

/** Returns the owner's URL of a database of the run, for changes of tables. */
export function ownerUrlOf(url = env().DATABASE_URL ?? ''): string {
  return withDatabaseName(env().DATABASE_OWNER_URL ?? '', new URL(url).pathname.slice(1))
}

/** Returns the application's URL of a database that was made empty. */
export function applicationUrlOf(url: string): string {
  return withDatabaseName(env().DATABASE_URL ?? '', new URL(url).pathname.slice(1))
}

/** Returns the superuser's URL of a database of the run, for rows that no role may write. */
export function superuserUrlOf(url = env().DATABASE_URL ?? ''): string {
  return withDatabaseName(process.env.TEST_SUPERUSER_URL ?? '', new URL(url).pathname.slice(1))
}

/** Works as the owner of the current database, on rows that the application may only read. */
export async function withOwner<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = connect({ url: ownerUrlOf(), poolMax: 1 })
  return work(database).finally(() => database.$disconnect())
}

/** Runs a statement as the owner of the current database, which the application may not run. */
export async function runAsOwner(statement: string, url = env().DATABASE_URL): Promise<void> {
  await runAt(ownerUrlOf(url), statement)
}

async function runAt(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

async function createDatabase(url: string, name: string, template = 'template1'): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  // CREATE DATABASE copies the template's contents, but not its settings and privileges.
  const { rows } = await client.query<{ setting: string; value: string }>(
    `SELECT split_part(line, '=', 1) AS setting, split_part(line, '=', 2) AS value
     FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase, unnest(setconfig) AS line
     WHERE setrole = 0 AND datname = $1`,
    [template],
  )
  for (const { setting, value } of rows) {
    await client.query(`ALTER DATABASE ${name} SET ${setting} TO '${value}'`)
  }
  await client.query(`REVOKE CREATE, TEMPORARY ON DATABASE ${name} FROM PUBLIC`)
  await client.end()
}

function withDatabaseName(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = name
  return changed.href
}
