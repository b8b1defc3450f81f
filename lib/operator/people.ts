import { listAccountNames } from '#lib/accounts/queries.ts'
import type { Role } from '#lib/accounts/schema.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Page, readPage } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import { nameCondition } from '#lib/operator/accounts.ts'
import type { PersonDetail, PersonFilter, PersonLine } from '#lib/operator/schema.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'
import { activeSessionCondition } from '#lib/people/sessions.ts'

const PAGE_SIZE = 25

export interface PeopleQuery {
  q?: string
  status?: PersonFilter
  cursor?: string
}

const lineColumns = Prisma.sql`u.id, u.name, u.email, u.is_admin, u.is_email_verified,
  u.disabled_at IS NOT NULL AS is_disabled, ${hasSecondFactor} AS has_second_factor,
  ${utc('u.created_at')},
  (SELECT count(*)::int FROM memberships m WHERE m.user_id = u.id) AS account_count,
  (SELECT ${utc('max(s.last_used_at)', 'last_used_at')} FROM user_sessions s
    WHERE s.user_id = u.id) AS last_used_at`

const FILTER_CONDITIONS: Record<PersonFilter, Prisma.Sql> = {
  staff: Prisma.sql`u.is_admin`,
  without_factor: Prisma.sql`NOT ${hasSecondFactor}`,
  unverified: Prisma.sql`NOT u.is_email_verified`,
  disabled: Prisma.sql`u.disabled_at IS NOT NULL`,
}

/** Lists users, newest first. */
export function listPeople({ q, status, cursor }: PeopleQuery): Promise<Page<PersonLine>> {
  const filter = status ? FILTER_CONDITIONS[status] : Prisma.sql`true`
  const after = cursor ? Prisma.sql`u.id < ${cursor}::uuid` : Prisma.sql`true`
  return readPage<PersonLine>(
    Prisma.sql`
      SELECT ${asJson(lineColumns)}::text AS json FROM users u
      WHERE ${searchCondition(q)} AND ${filter} AND ${after}
      ORDER BY u.id DESC LIMIT ${PAGE_SIZE + 1}`,
    PAGE_SIZE,
  )
}

function searchCondition(q: string | undefined): Prisma.Sql {
  if (!q) return Prisma.sql`true`
  if (isUuid(q)) return Prisma.sql`u.id = ${q}::uuid`
  return Prisma.sql`(${nameCondition('u.name', q)}
    OR position(lower(${q}) IN u.email) > 0)`
}

export async function readPerson(id: string): Promise<PersonDetail | null> {
  if (!isUuid(id)) return null
  const [person] = await queryRows<
    PersonLine & { session_count: number; roles: { id: string; role: Role }[] }
  >(Prisma.sql`
    SELECT ${asJson(Prisma.sql`${lineColumns},
      (SELECT count(*)::int FROM user_sessions s
        WHERE s.user_id = u.id AND ${activeSessionCondition('s')}) AS session_count,
      (SELECT COALESCE(json_agg(json_build_object('id', m.account_id, 'role', m.role)
          ORDER BY m.created_at, m.account_id), '[]')
        FROM memberships m WHERE m.user_id = u.id) AS roles`)}::text AS json
    FROM users u WHERE u.id = ${id}::uuid`)
  if (!person) return null
  const { roles, ...line } = person
  const names = await listAccountNames(roles.map(role => role.id))
  return { ...line, accounts: roles.map(role => ({ ...role, name: names.get(role.id) ?? '—' })) }
}
