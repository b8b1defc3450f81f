import { Prisma } from '#lib/db/client.ts'
import { LIMITED_TABLES } from '#lib/db/grants.ts'
import { compareSettings, type SettingsDifference, STORED_SETTINGS } from '#lib/db/role-settings.ts'
import { queryRows } from '#lib/db/rows.ts'

export interface RoleReport extends SettingsDifference {
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
    const line = `the database role ${role} owns the tables that it works with: see "Two database roles" in docs/operating.md`
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
