import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { databaseLimits, Prisma, transactionOf } from '#lib/db/client.ts'
import { type Finish, migrate } from '#lib/db/migrate.ts'
import {
  requireDurableServer,
  requireUtcSession,
  withClient,
  withoutLimits,
} from '#lib/db/server.ts'
import { queryRows } from '#lib/db/sql.ts'

interface DatabaseUrls {
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

/**
 * Stored with the roles, so that they hold behind every pooler. Longer work of the application sets
 * its own limit (`withSnapshot`).
 */
const BOTH_ROLES = { TimeZone: 'UTC', idle_in_transaction_session_timeout: '60000' }
/** Migrations and backups take longer than requests; pg_dump sets its own limits. */
const OWNER_SETTINGS = { ...BOTH_ROLES, statement_timeout: '3600000' }

/**
 * A pooler closes the session of a client that gave up: the server notices it within 500 ms and cancels the
 * statement. One that waited in the pooler begins late, so its own limit ends after the request.
 */
const CLIENT_CHECK = ['client_connection_check_interval', '500'] as const

function applicationSettings(): (readonly [string, string])[] {
  const statement = ['statement_timeout', `${databaseLimits().statement}`] as const
  return [...Object.entries(BOTH_ROLES), statement, CLIENT_CHECK]
}

const IN_DATABASE = ' in this database'

/**
 * SQL for the settings of the current role as `name=value`. Only those that a role may give itself:
 * RESET ALL would not remove those that only a superuser may set. On Windows, which cannot check the
 * client and refuses the setting, it counts as stored.
 */
const STORED_SETTINGS = `SELECT line || CASE setdatabase WHEN 0 THEN '' ELSE '${IN_DATABASE}' END AS line
  FROM pg_db_role_setting, unnest(setconfig) AS line
    JOIN pg_settings s ON lower(s.name) = lower(split_part(line, '=', 1)) AND s.context = 'user'
  WHERE setrole = current_user::regrole
    AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  UNION ALL SELECT '${CLIENT_CHECK.join('=')}' WHERE version() ~* 'windows|mingw|visual c'`

interface SettingsDifference {
  /** Settings that the application should have and does not, as `name=value`. */
  missing: string[]
  /** Settings that it should not have, also those with another value. */
  foreign: string[]
}

function compareSettings(stored: string[]): SettingsDifference {
  const lines = applicationSettings().map(pair => pair.join('='))
  return {
    missing: lines.filter(line => !stored.includes(line)),
    foreign: stored.filter(line => !lines.includes(line)),
  }
}

/**
 * Gives the current role exactly the application's settings, also for this database alone, which
 * take precedence. Writes nothing if they are stored: PostgreSQL refuses two changes at once.
 */
async function storeApplicationSettings(client: Client): Promise<void> {
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

function hasApplicationSettings(client: Client): Promise<boolean> {
  return withoutLimits(client, () => isLimited(client))
}

async function isLimited(client: Client): Promise<boolean> {
  const { missing, foreign } = compareSettings(await readStored(client))
  return missing.length + foreign.length === 0
}

/** Stores the owner's limits; other settings of that role are the operator's. */
async function storeOwnerSettings(client: Client): Promise<void> {
  for (const [name, value] of await listMissingOfOwner(client))
    await client.query(`ALTER ROLE CURRENT_USER SET ${name} TO '${value}'`)
}

async function hasOwnerSettings(client: Client): Promise<boolean> {
  return (await listMissingOfOwner(client)).length === 0
}

async function listMissingOfOwner(client: Client): Promise<[string, string][]> {
  const stored = await readStored(client)
  return Object.entries(OWNER_SETTINGS).filter(pair => !stored.includes(pair.join('=')))
}

async function readStored(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(STORED_SETTINGS)
  return rows.map(({ line }) => line)
}

/** Privileges of the application on every table that is not named below. */
const DEFAULT_PRIVILEGES = ['DELETE', 'INSERT', 'SELECT', 'UPDATE']

/** Tables whose rows the application may not all change or delete (docs/decisions/026). */
const LIMITED_TABLES: Record<string, string[]> = {
  _prisma_migrations: ['SELECT'],
  audit_log: ['INSERT', 'SELECT'],
  bank_fees: ['INSERT', 'SELECT'],
  bank_orders: ['INSERT', 'SELECT', 'UPDATE'],
  connection_trials: ['DELETE', 'INSERT', 'SELECT', 'UPDATE'],
  booked_payments: ['INSERT', 'SELECT'],
  disputes: ['INSERT', 'SELECT', 'UPDATE'],
  dispute_evidence: ['INSERT', 'SELECT'],
  corrections: ['INSERT', 'SELECT', 'UPDATE'],
  connections: ['INSERT', 'SELECT', 'UPDATE'],
  deliveries: ['DELETE', 'SELECT', 'UPDATE'],
  event_sequences: ['SELECT'],
  events: ['SELECT'],
  feed_epochs: ['INSERT', 'SELECT'],
  differences: ['INSERT', 'SELECT', 'UPDATE'],
  ledger_accounts: ['SELECT'],
  ledger_entries: ['SELECT'],
  ledger_transfers: ['SELECT'],
  receipt_keys: ['INSERT', 'SELECT', 'UPDATE'],
  payment_returns: ['INSERT', 'SELECT'],
  payout_returns: ['INSERT', 'SELECT'],
  unmatched_returns: ['INSERT', 'SELECT', 'UPDATE'],
  unmatched_resolutions: ['INSERT', 'SELECT'],
  payments: ['INSERT', 'SELECT'],
  reconciled_days: ['INSERT', 'SELECT', 'UPDATE'],
  restore_closures: ['INSERT', 'SELECT', 'UPDATE'],
  restores: ['INSERT', 'SELECT'],
  server_secrets: ['INSERT', 'SELECT', 'UPDATE'],
  write_offs: ['INSERT', 'SELECT'],
}

interface Relation {
  name: string
  kind: 'TABLE' | 'SEQUENCE'
  isTable: boolean
  granted: string[]
  isPublic: boolean
}

interface Place {
  database: string
  canConnect: boolean
  canCreateIn: boolean
  canUse: boolean
  canCreate: boolean
}

/**
 * Gives the application's role what it needs and takes everything else, in one transaction. Runs as
 * the owner after the migrations, so that it covers every new table.
 */
async function grantToApplication(client: Client, role: string): Promise<void> {
  await transactionOf(client, async () => {
    for (const statement of await listGrants(client, role)) await client.query(statement)
  })
}

/** Returns only what differs: each GRANT makes all sessions plan their statements again. */
async function listGrants(client: Client, role: string): Promise<string[]> {
  return [
    ...(await listRelations(client, role)).flatMap(relation => relationGrants(relation, role)),
    ...(await listPlaceGrants(client, role)),
    ...(await listFunctionGrants(client, role)),
  ]
}

async function listRelations(client: Client, role: string): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `SELECT quote_ident(c.relname) AS name, c.relkind IN ('r', 'p') AS "isTable",
       CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
       ARRAY(SELECT privilege_type FROM aclexplode(c.relacl)
         WHERE grantee = r.oid ORDER BY privilege_type) AS granted,
       EXISTS (SELECT FROM aclexplode(c.relacl) WHERE grantee = 0)
         OR EXISTS (SELECT FROM pg_attribute a, aclexplode(a.attacl) x
           WHERE a.attrelid = c.oid AND x.grantee IN (0, r.oid)) AS "isPublic"
     FROM pg_class c, pg_roles r
     WHERE r.rolname = $1 AND c.relnamespace = 'public'::regnamespace
       AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT c.relispartition AND pg_has_role(c.relowner, 'USAGE')
     ORDER BY c.relname`,
    [role],
  )
  return rows
}

function relationGrants({ name, kind, isTable, granted, isPublic }: Relation, role: string) {
  const tablePrivileges = LIMITED_TABLES[name] ?? DEFAULT_PRIVILEGES
  const wanted = isTable ? tablePrivileges : kind === 'SEQUENCE' ? ['SELECT', 'USAGE'] : ['SELECT']
  if (!isPublic && granted.join() === wanted.join()) return []
  const target = `${kind} public.${name}`
  return [
    `REVOKE ALL ON ${target} FROM PUBLIC, ${quoteName(role)}`,
    `GRANT ${wanted.join(', ')} ON ${target} TO ${quoteName(role)}`,
  ]
}

/**
 * Only the owner may create temporary tables: one with the name of a real table would replace it for
 * later requests on the same connection.
 */
async function listPlaceGrants(client: Client, role: string): Promise<string[]> {
  const { rows } = await client.query<Place>(
    `SELECT quote_ident(current_database()) AS database,
       has_database_privilege($1, current_database(), 'CONNECT') AS "canConnect",
       has_database_privilege($1, current_database(), 'CREATE, TEMPORARY') AS "canCreateIn",
       has_schema_privilege($1, 'public', 'USAGE') AS "canUse",
       has_schema_privilege($1, 'public', 'CREATE') AS "canCreate"`,
    [role],
  )
  const { database, canConnect, canCreateIn, canUse, canCreate } = rows[0] as Place
  const name = quoteName(role)
  return [
    canCreateIn && `REVOKE CREATE, TEMPORARY ON DATABASE ${database} FROM PUBLIC, ${name}`,
    !canConnect && `GRANT CONNECT ON DATABASE ${database} TO ${name}`,
    canCreate && `REVOKE CREATE ON SCHEMA public FROM PUBLIC, ${name}`,
    !canUse && `GRANT USAGE ON SCHEMA public TO ${name}`,
  ].filter(statement => typeof statement === 'string')
}

/** Functions that run as the owner; every other function may be executed by every role. */
async function listFunctionGrants(client: Client, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT p.oid::regprocedure::text AS name FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
       AND pg_has_role(p.proowner, 'USAGE') AND NOT has_function_privilege($1, p.oid, 'EXECUTE')`,
    [role],
  )
  return rows.map(({ name }) => `GRANT EXECUTE ON FUNCTION ${name} TO ${quoteName(role)}`)
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

interface RoleReport extends SettingsDifference {
  role: string
  /** Whether the role owns the tables, as it does while there is only one role. */
  isOwner: boolean
  /** Rights and memberships that the application does not need. */
  excess: string[]
}

/** Compares the application's role with what `database roles` gives it. */
export async function inspectRole(): Promise<RoleReport> {
  const [report] = await queryRows<
    Omit<RoleReport, keyof SettingsDifference> & { stored: string[] }
  >(
    Prisma.sql`
    SELECT json_build_object('role', current_user, 'isOwner', ${OWNS_TABLES},
      'excess', ARRAY(SELECT text FROM (${EXCESS}) x ORDER BY text),
      'stored', ARRAY(${Prisma.raw(STORED_SETTINGS)} ORDER BY line))::text AS json`,
  )
  const { stored, ...rights } = report as NonNullable<typeof report>
  return { ...rights, ...compareSettings(stored) }
}

/** Whether a change by ALTER TABLE is possible: as the owner, or as a member of the owner. */
const OWNS_TABLES = Prisma.sql`EXISTS (SELECT FROM pg_class
  WHERE oid = to_regclass('public._prisma_migrations') AND pg_has_role(relowner, 'MEMBER'))`

const limits = Object.entries(LIMITED_TABLES).map(
  ([name, allowed]) => Prisma.sql`(${name}, ${allowed}::text[])`,
)

/** With pg_monitor, the health page sees the transactions of other roles, too. */
const EXCESS = Prisma.sql`
  SELECT a.name AS text FROM pg_roles r, LATERAL (VALUES ('SUPERUSER', r.rolsuper),
    ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
    ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)) AS a (name, is_held)
  WHERE r.rolname = current_user AND a.is_held
  UNION ALL SELECT 'member of ' || roleid::regrole FROM pg_auth_members
  WHERE member = current_user::regrole
    AND roleid NOT IN ('pg_monitor'::regrole, 'pg_read_all_stats'::regrole)
  UNION ALL SELECT 'CREATE in schema public'
  WHERE has_schema_privilege('public', 'CREATE')
  UNION ALL SELECT p || ' in the database' FROM unnest(ARRAY['CREATE', 'TEMPORARY']) AS p
  WHERE has_database_privilege(current_database(), p)
  UNION ALL SELECT p || ' on ' || l.name
  FROM (VALUES ${Prisma.join(limits)}) AS l (name, allowed),
    unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS p
  WHERE p <> ALL (l.allowed) AND to_regclass('public.' || l.name) IS NOT NULL
    AND (has_table_privilege('public.' || l.name, p)
      OR p IN ('INSERT', 'UPDATE', 'REFERENCES') AND has_any_column_privilege('public.' || l.name, p))`

/** Returns one line about the role; `isLimited` is false if something must be done. */
export function describeRole(report: RoleReport): { isLimited: boolean; line: string } {
  const { role, isOwner, excess, missing, foreign } = report
  if (isOwner) {
    const line = `the database role ${role} owns the tables that it works with: see "Two database roles" in docs/operate/security.md`
    return { isLimited: false, line }
  }
  const faults = [
    ...excess.map(right => `may ${right}`),
    ...missing.map(setting => `lacks the setting ${setting}`),
    ...foreign.map(setting => `has the setting ${setting}`),
  ]
  return faults.length > 0
    ? { isLimited: false, line: `the database role ${role}: ${faults.join(', ')}` }
    : { isLimited: true, line: `the database role ${role} owns nothing and only adds to the books` }
}
