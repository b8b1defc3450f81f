import { Client } from 'pg'
import { migrate } from '#lib/base/db/migrate.ts'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'

/** A migrated database without connections, so that it can be copied at any time. */
const TEMPLATE = 'migrated'

/** Migrates the run's database and copies it as the template for single tests. */
export async function prepareTemplateDatabase(url: string): Promise<void> {
  await migrate(url)
  const { pathname } = new URL(url)
  await createDatabase(withDatabaseName(url, 'postgres'), TEMPLATE, pathname.slice(1))
}

/** Creates a database for one test on the run's server. `migrated: false` leaves it empty. */
export async function makeDatabase(options: { migrated?: boolean } = {}): Promise<string> {
  const url = env().DATABASE_URL ?? ''
  const name = `test_${newId().replaceAll('-', '')}`
  await createDatabase(url, name, (options.migrated ?? true) ? TEMPLATE : undefined)
  return withDatabaseName(url, name)
}

async function createDatabase(url: string, name: string, template = 'template1'): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  // CREATE DATABASE copies the template's contents, but not its settings.
  const { rows } = await client.query<{ setting: string; value: string }>(
    `SELECT split_part(line, '=', 1) AS setting, split_part(line, '=', 2) AS value
     FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase, unnest(setconfig) AS line
     WHERE setrole = 0 AND datname = $1`,
    [template],
  )
  for (const { setting, value } of rows) {
    await client.query(`ALTER DATABASE ${name} SET ${setting} TO '${value}'`)
  }
  await client.end()
}

function withDatabaseName(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = name
  return changed.href
}
