import type { Client } from 'pg'
import { transactionOf } from '#lib/db/transaction.ts'

/** Privileges of the application on every table that is not named below. */
const DEFAULT_PRIVILEGES = ['DELETE', 'INSERT', 'SELECT', 'UPDATE']

/** Tables whose rows the application may not all change or delete (docs/decisions/026). */
export const LIMITED_TABLES: Record<string, string[]> = {
  _prisma_migrations: ['SELECT'],
  audit_log: ['INSERT', 'SELECT'],
  bank_fees: ['INSERT', 'SELECT'],
  bank_orders: ['INSERT', 'SELECT', 'UPDATE'],
  connection_trials: ['DELETE', 'INSERT', 'SELECT', 'UPDATE'],
  booked_payments: ['INSERT', 'SELECT'],
  disputes: ['INSERT', 'SELECT', 'UPDATE'],
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
export async function grantToApplication(client: Client, role: string): Promise<void> {
  await transactionOf(client, async () => {
    for (const statement of await listGrants(client, role)) await client.query(statement)
  })
}

/** Returns only what differs: each GRANT makes all sessions plan their statements again. */
export async function listGrants(client: Client, role: string): Promise<string[]> {
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

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
