import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { grantToApplication, listGrants, quoteName } from '#lib/db/grants.ts'
import { type Finish, migrate } from '#lib/db/migrate.ts'
import {
  hasApplicationSettings,
  hasOwnerSettings,
  storeApplicationSettings,
  storeOwnerSettings,
  withoutLimits,
} from '#lib/db/role-settings.ts'
import { requireDurableServer, requireUtcSession } from '#lib/db/server.ts'
import { withClient } from '#lib/db/with-client.ts'

export interface DatabaseUrls {
  /** URL of the application's role, or of the only role. */
  url: string
  ownerUrl: string | undefined
  /** Whether this process may change the database. Default: yes. */
  isAllowed?: boolean
}

interface RoleIdentity {
  role: string
  database: string
  owned: string | null
}

/** Migrates as the owner, then grants the application its privileges. With one role: migrates. */
export async function prepareDatabase(urls: DatabaseUrls): Promise<string[]> {
  const applied = await prepareSchema(urls)
  // On a new connection: the settings of a role apply to sessions that begin after them.
  await withClient(urls.url, 'DATABASE_URL', client =>
    withoutLimits(client, () => requireUtcSession(client)),
  )
  return applied
}

async function prepareSchema({ url, ownerUrl, isAllowed = true }: DatabaseUrls): Promise<string[]> {
  if (!ownerUrl) return migrate(url, { finish: SETTINGS_OF_APPLICATION, isAllowed })
  return withClient(url, 'DATABASE_URL', async application => {
    const { role } = await requireTwoRoles(application, ownerUrl)
    await withoutLimits(application, () => requireDurableServer(application))
    // Under the migrators' lock: PostgreSQL refuses two changes of one role at the same moment.
    const finish: Finish = {
      isDone: async owner =>
        (await listGrants(owner, role)).length === 0 &&
        (await hasOwnerSettings(owner)) &&
        (await hasApplicationSettings(application)),
      run: async owner => {
        await grantToApplication(owner, role)
        await storeOwnerSettings(owner)
        await storeApplicationSettings(application)
      },
    }
    return migrate(ownerUrl, { finish, isAllowed })
  })
}

/** Without its owner, the role that works with the tables still limits itself. */
const SETTINGS_OF_APPLICATION: Finish = {
  isDone: async client => {
    const { owned } = await readIdentity(client)
    return owned !== null || hasApplicationSettings(client)
  },
  run: async client => {
    const { owned } = await readIdentity(client)
    if (owned === null) await storeApplicationSettings(client)
  },
}

/** Creates the role of DATABASE_URL if it is missing and the owner may create roles. */
export async function createApplicationRole(url: string, ownerUrl: string): Promise<void> {
  const { username, password } = new URL(url)
  const role = decodeURIComponent(username)
  await withClient(ownerUrl, 'DATABASE_OWNER_URL', async client => {
    const { rows } = await client.query<{ exists: boolean; canCreate: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS exists,
         rolcreaterole OR rolsuper AS "canCreate" FROM pg_roles WHERE rolname = current_user`,
      [role],
    )
    const grant = `GRANT CONNECT ON DATABASE ${quoteName(client.database ?? '')} TO ${quoteName(role)}`
    if (role === '') return
    if (rows[0]?.exists) {
      await client.query(grant)
      return
    }
    if (!rows[0]?.canCreate) {
      throw setupError(
        `The role ${role} of DATABASE_URL does not exist, and the owner may not create roles: create it as a superuser (createuser --pwprompt ${role}), then run this command again`,
      )
    }
    const secret = client.escapeLiteral(decodeURIComponent(password))
    await client.query(`CREATE ROLE ${quoteName(role)} LOGIN PASSWORD ${secret}`)
    await client.query(grant)
  })
}

/** `owned` is a table or database that the role owns, by itself or through another role. */
async function readIdentity(client: Client): Promise<RoleIdentity> {
  const { rows } = await withoutLimits(client, () =>
    client.query<RoleIdentity>(
      `SELECT current_user AS role, current_database() AS database, (
         SELECT min(name) FROM (
           SELECT relname AS name FROM pg_class
           WHERE relnamespace = 'public'::regnamespace AND pg_has_role(relowner, 'MEMBER')
           UNION ALL SELECT datname FROM pg_database
           WHERE datname = current_database() AND pg_has_role(datdba, 'MEMBER')) o) AS owned`,
    ),
  )
  return rows[0] as RoleIdentity
}

async function requireTwoRoles(client: Client, ownerUrl: string): Promise<RoleIdentity> {
  const application = await readIdentity(client)
  const owner = await withClient(ownerUrl, 'DATABASE_OWNER_URL', readIdentity)
  if (application.database !== owner.database) {
    throw setupError(
      `DATABASE_URL names the database ${application.database}, but DATABASE_OWNER_URL ${owner.database}: both must name the same`,
    )
  }
  if (application.owned === null) return application
  throw setupError(
    `The role ${application.role} of DATABASE_URL owns ${application.owned}: put its URL into DATABASE_OWNER_URL, and that of another role, which owns nothing, into DATABASE_URL`,
  )
}
