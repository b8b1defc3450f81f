import type { Client } from 'pg'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { STATEMENT_TIMEOUT_MS } from '#lib/db/client.ts'
import { standbyError } from '#lib/db/server.ts'
import { transactionOf } from '#lib/db/transaction.ts'

/**
 * Stored with the roles, so that they hold behind every pooler. Longer work of the application sets
 * its own limit (`withSnapshot`).
 */
const LIMITS = {
  TimeZone: 'UTC',
  statement_timeout: `${STATEMENT_TIMEOUT_MS}`,
  idle_in_transaction_session_timeout: '60000',
}
/** Migrations and backups take longer than requests; pg_dump sets its own limits. */
const OWNER_SETTINGS = { ...LIMITS, statement_timeout: '3600000' }

/**
 * A pooler closes the session of a client that gave up: the server notices it within 500 ms and cancels the
 * statement. One that waited in the pooler begins late, so its own limit ends after the request.
 */
const CLIENT_CHECK = 'client_connection_check_interval'
const APPLICATION_SETTINGS = { ...LIMITS, [CLIENT_CHECK]: '500' }

const APPLICATION_LINES = Object.entries(APPLICATION_SETTINGS).map(pair => pair.join('='))
const IN_DATABASE = ' in this database'

/**
 * SQL for the settings of the current role as `name=value`. Only those that a role may give itself:
 * RESET ALL would not remove those that only a superuser may set. On Windows, which cannot check the
 * client and refuses the setting, it counts as stored.
 */
export const STORED_SETTINGS = `SELECT line || CASE setdatabase WHEN 0 THEN '' ELSE '${IN_DATABASE}' END AS line
  FROM pg_db_role_setting, unnest(setconfig) AS line
    JOIN pg_settings s ON lower(s.name) = lower(split_part(line, '=', 1)) AND s.context = 'user'
  WHERE setrole = current_user::regrole
    AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  UNION ALL SELECT '${CLIENT_CHECK}=${APPLICATION_SETTINGS[CLIENT_CHECK]}' WHERE version() ~* 'windows|mingw|visual c'`

export interface SettingsDifference {
  /** Settings that the application should have and does not, as `name=value`. */
  missing: string[]
  /** Settings that it should not have, also those with another value. */
  foreign: string[]
}

export function compareSettings(stored: string[]): SettingsDifference {
  return {
    missing: APPLICATION_LINES.filter(line => !stored.includes(line)),
    foreign: stored.filter(line => !APPLICATION_LINES.includes(line)),
  }
}

/**
 * Gives the current role exactly the application's settings, also for this database alone, which
 * take precedence. Writes nothing if they are stored: PostgreSQL refuses two changes at once.
 */
export async function storeApplicationSettings(client: Client): Promise<void> {
  await withoutLimits(client, async () => {
    if (await isLimited(client)) return
    await client.query('ALTER ROLE CURRENT_USER RESET ALL')
    // A pooler may know the database by another name.
    const { rows } = await client.query('SELECT quote_ident(current_database()) AS database')
    await client.query(`ALTER ROLE CURRENT_USER IN DATABASE ${rows[0].database} RESET ALL`)
    for (const line of compareSettings(await readStored(client)).missing) {
      const [name, value] = line.split('=')
      await client.query(`ALTER ROLE CURRENT_USER SET ${name} TO '${value}'`)
    }
  })
}

export function hasApplicationSettings(client: Client): Promise<boolean> {
  return withoutLimits(client, () => isLimited(client))
}

async function isLimited(client: Client): Promise<boolean> {
  const { missing, foreign } = compareSettings(await readStored(client))
  return missing.length + foreign.length === 0
}

/** Stores the owner's limits; other settings of that role are the operator's. */
export async function storeOwnerSettings(client: Client): Promise<void> {
  for (const [name, value] of await listMissingOfOwner(client))
    await client.query(`ALTER ROLE CURRENT_USER SET ${name} TO '${value}'`)
}

export async function hasOwnerSettings(client: Client): Promise<boolean> {
  return (await listMissingOfOwner(client)).length === 0
}

async function listMissingOfOwner(client: Client): Promise<[string, string][]> {
  const stored = await readStored(client)
  return Object.entries(OWNER_SETTINGS).filter(pair => !stored.includes(pair.join('=')))
}

/** SQLSTATE of a statement that exceeded its limit. */
const CANCELED = '57014'
/** SQLSTATE by which a standby refuses READ WRITE. */
const NO_WRITES = '0A000'
/** On a busy machine even this statement can exceed 1 ms, a few times in a row. */
const ATTEMPTS_MAX = 50
/** For the transaction alone: behind a pooler, the rest of a session belongs to others. */
const BEGIN_WITHOUT_LIMITS = `BEGIN READ WRITE; SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0`

/** A transaction free of its role's limits, under which it could not correct them. */
export async function withoutLimits<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const begin = async (attempt = 1): Promise<void> => {
    try {
      // In one message, because a rollback of its own could exceed 1 ms, too.
      await client.query(`${attempt > 1 ? 'ROLLBACK; ' : ''}${BEGIN_WITHOUT_LIMITS}`)
    } catch (error) {
      const { code } = parseDatabaseError(error)
      if (code === NO_WRITES) throw standbyError()
      if (code !== CANCELED || attempt === ATTEMPTS_MAX) throw error
      await begin(attempt + 1)
    }
  }
  return transactionOf(client, work, begin)
}

async function readStored(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(STORED_SETTINGS)
  return rows.map(({ line }) => line)
}
