import { lowerAscii } from '#lib/base/ascii.ts'
import { matchActions } from '#lib/base/audit/actions.ts'
import type { AuditLine, StaffAuditFilters } from '#lib/base/audit/schema.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { filterSql, type Page, readPage } from '#lib/base/db/page.ts'
import { asJson } from '#lib/base/db/rows.ts'
import { isUuid } from '#lib/base/ids.ts'

/** Staff of the operator read all rows, members only those of their account. */
export type AuditReader = { staff: true } | { staff: false; accountId: string }

export type AuditQuery = StaffAuditFilters & { cursor?: string; limit: number }

/** True if the actor is an admin and no member of the account: merchants see only "operator". */
const isOperator = Prisma.sql`(
  EXISTS (SELECT FROM users o WHERE o.id = r.actor_id AND o.is_admin) AND NOT EXISTS (
    SELECT FROM memberships m WHERE m.account_id = r.account_id AND m.user_id = r.actor_id))`

/** Account, action, actor and period use indexes; other filters scan from the newest row. */
export function listAudit(reader: AuditReader, query: AuditQuery): Promise<Page<AuditLine>> {
  const { limit, cursor, created_from, created_to, action } = query
  const orderAndLimit = Prisma.sql`ORDER BY r.id DESC LIMIT ${limit + 1}`
  const conditions = Prisma.sql`${buildConditions(reader, query)} ${filterSql('r', { cursor, created_from, created_to })}`
  const actions = action === undefined ? null : (matchActions(action) ?? [])
  // One condition for the whole group: a query per action would scan past all other rows each time.
  const actionCondition = actions
    ? Prisma.sql`r.action = ANY(${actions}::text[])`
    : Prisma.sql`true`
  const matchingRows = Prisma.sql`SELECT r.* FROM audit_log r WHERE ${actionCondition} AND ${conditions} ${orderAndLimit}`
  const rows = Prisma.sql`
    SELECT ${asJson(columnsFor(reader))}::text AS json
    FROM (SELECT r.*, ${isOperator} AS is_operator FROM (${matchingRows}) r) r
    LEFT JOIN users u ON u.id = r.actor_id
    LEFT JOIN accounts a ON a.id = r.account_id
    ${orderAndLimit}`
  return readPage<AuditLine>(rows, limit)
}

export async function* walkAudit(
  reader: AuditReader,
  filters: StaffAuditFilters,
  limit: number,
): AsyncGenerator<AuditLine[]> {
  let cursor: string | undefined
  do {
    const page: Page<AuditLine> = await listAudit(reader, { ...filters, cursor, limit })
    yield page.rows
    cursor = page.nextCursor ?? undefined
  } while (cursor)
}

function columnsFor(reader: AuditReader): Prisma.Sql {
  const isHidden = reader.staff ? Prisma.sql`false` : Prisma.sql`r.is_operator`
  const unlessHidden = (column: Prisma.Sql) =>
    Prisma.sql`CASE WHEN NOT ${isHidden} THEN ${column} END`
  return Prisma.sql`r.id, ${utc('r.created_at')}, r.action, r.target, r.reason, r.before, r.after,
    ${unlessHidden(Prisma.sql`r.ip`)} AS ip, ${unlessHidden(Prisma.sql`r.request_id`)} AS request_id,
    json_build_object(
      'kind', CASE WHEN r.actor_type <> 'user' THEN r.actor_type
        WHEN ${isHidden} THEN 'operator' ELSE 'person' END,
      'id', ${unlessHidden(Prisma.sql`r.actor_id`)}, 'name', ${unlessHidden(Prisma.sql`u.name`)},
      'email', ${unlessHidden(Prisma.sql`u.email`)}) AS actor,
    CASE WHEN a.id IS NOT NULL THEN json_build_object('id', a.id, 'name', a.name) END AS account`
}

/** A merchant cannot filter by values that the list hides from them. */
function buildConditions(
  reader: AuditReader,
  { account, actor, target, q }: AuditQuery,
): Prisma.Sql {
  const accountId = reader.staff ? account : reader.accountId
  const exceptOperators = reader.staff ? Prisma.empty : Prisma.sql`AND NOT ${isOperator}`
  const conditions = [Prisma.sql`true`]
  if (accountId) conditions.push(Prisma.sql`r.account_id = ${accountId}::uuid`)
  if (actor) conditions.push(Prisma.sql`${actorCondition(actor)} ${exceptOperators}`)
  if (target) conditions.push(Prisma.sql`r.target = ${target}`)
  if (q) conditions.push(Prisma.sql`(r.request_id = ${q} OR r.ip = ${q}) ${exceptOperators}`)
  return Prisma.join(conditions, ' AND ')
}

function actorCondition(actor: string): Prisma.Sql {
  if (actor === 'system' || actor === 'command_line') return Prisma.sql`r.actor_type = ${actor}`
  if (isUuid(actor)) return Prisma.sql`r.actor_id = ${actor}::uuid`
  return Prisma.sql`r.actor_id = (SELECT w.id FROM users w WHERE w.email = ${lowerAscii(actor)})`
}
