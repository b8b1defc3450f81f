import { evidenceCountSql } from '#lib/charges/disputes/evidence.ts'
import type { DisputesQuery, ListedDispute, OwnDispute } from '#lib/charges/disputes/schema.ts'
import { DUE_SOON_HOURS } from '#lib/charges/states.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { idOf, type Page, toPage } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

const PAGE_SIZE = 25

/** Columns of DisputeBasics, from a dispute `d`. */
export const disputeColumns = Prisma.sql`d.id, d.mode, d.amount, d.status, d.answer_state,
  ${utc('d.respond_by')}, ${utc('d.created_at')}`

/** Reads disputes, the newest first; those to be answered, the oldest first. */
export async function queryDisputes<Row extends ListedDispute>(
  columns: Prisma.Sql,
  from: Prisma.Sql,
  { status, cursor }: DisputesQuery,
): Promise<Page<Row>> {
  const isOldestFirst = status === 'open' || status === 'due'
  const [order, after] = isOldestFirst
    ? [Prisma.sql`ASC`, Prisma.sql`d.id > ${cursor}::uuid`]
    : [Prisma.sql`DESC`, Prisma.sql`d.id < ${cursor}::uuid`]
  const rows = await queryRows<Row>(Prisma.sql`
    SELECT ${asJson(Prisma.sql`${columns}, ${evidenceCountSql} AS evidence_count`)}::text AS json FROM ${from} AND ${disputeStatusCondition(status)}
      AND ${cursor ? after : Prisma.sql`true`}
    ORDER BY d.id ${order} LIMIT ${PAGE_SIZE + 1}`)
  return toPage(rows, PAGE_SIZE, idOf)
}

/** Condition that a dispute `d` is shown under a filter. */
export function disputeStatusCondition(status: DisputesQuery['status']): Prisma.Sql {
  if (status === undefined) return Prisma.sql`true`
  if (status === 'closed') return Prisma.sql`d.status <> 'open'`
  const isUnanswered = Prisma.sql`(d.answer_state IS NULL OR d.answer_state IN ('refused', 'unsent'))`
  const isDue = Prisma.sql`d.respond_by < now() + make_interval(hours => ${DUE_SOON_HOURS}::int)`
  return Prisma.sql`d.status = 'open' AND ${isUnanswered} = ${status !== 'answered'}
    AND ${status === 'due' ? isDue : Prisma.sql`true`}`
}

/** Lists the disputes of an account, with the charges whose payments are disputed. */
export function listOwnDisputes(
  accountId: string,
  mode: Mode,
  query: DisputesQuery,
): Promise<Page<OwnDispute>> {
  const columns = Prisma.sql`${disputeColumns}, c.id AS charge_id, c.external_id, c.client_name`
  const from = Prisma.sql`disputes d
    JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
    WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode}`
  return queryDisputes(columns, from, query)
}
