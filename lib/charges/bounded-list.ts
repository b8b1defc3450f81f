import type { ChargeFilters, ScannedFilters } from '#lib/charges/list-query.ts'
import { chargesWhere, joinCharges } from '#lib/charges/search.ts'
import { idUpperBoundAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Page, readPage, sqlIfDefined } from '#lib/db/page.ts'
import type { AccountRef } from '#lib/db/sql.ts'
import { asJson, queryRows } from '#lib/db/sql.ts'

/** Rows that one page reads to find those that match: about 50 ms (docs/decisions/057). */
const SCANNED_MAX = 10_000

type BoundedQuery = ChargeFilters & ScannedFilters & { limit: number; cursor?: string | undefined }

/**
 * Reads a page by filters that no index gives in list order. A page reads a limited number of rows: it
 * may be empty and still have a next one. Few payments in the period are found by their times instead.
 */
export async function readBounded<Row extends { id: string }>(
  columns: Prisma.Sql,
  account: AccountRef,
  mode: Mode,
  query: BoundedQuery,
): Promise<Page<Row>> {
  const listed = chargesWhere(account, mode, query)
  const select = Prisma.sql`SELECT ${asJson(columns)}::text AS json FROM`
  const end = Prisma.sql`ORDER BY c.id DESC LIMIT ${query.limit + 1}`
  const paid = await countPaid(account, mode, query)
  if (paid !== null && paid <= SCANNED_MAX) {
    return readPage<Row>(
      Prisma.sql`
      WITH paid AS MATERIALIZED (
        SELECT c.account_id, c.id FROM charges c
        WHERE ${chargesWhere(account, mode, {})} AND c.paid_at IS NOT NULL ${paidSql(query)})
      ${select} ${joinCharges('paid')} WHERE ${listed} ${metadataSql(query)} ${end}`,
      query.limit,
    )
  }
  const [last] = await queryRows<{ id: string }>(Prisma.sql`
    SELECT json_build_object('id', c.id)::text AS json FROM charges c
    WHERE ${listed} ${createdSql(query)} ORDER BY c.id DESC OFFSET ${SCANNED_MAX - 1} LIMIT 1`)
  const scanned = sqlIfDefined(last, Prisma.sql`AND c.id >= ${last?.id}::uuid`)
  const page = await readPage<Row>(
    Prisma.sql`
    WITH scanned AS MATERIALIZED (
      SELECT c.account_id, c.id FROM charges c WHERE ${listed} ${createdSql(query)} ${scanned})
    ${select} ${joinCharges('scanned')} WHERE true ${scannedSql(query)} ${end}`,
    query.limit,
  )
  return { ...page, nextCursor: page.nextCursor ?? last?.id ?? null }
}

/** Counts the payments of the period, which an index holds; null without a period. */
async function countPaid(
  account: AccountRef,
  mode: Mode,
  query: BoundedQuery,
): Promise<number | null> {
  if (!query.paid_from && !query.paid_to) return null
  const [found] = await queryRows<{ count: number }>(Prisma.sql`
    SELECT json_build_object('count', count(*))::text AS json FROM (
      SELECT FROM charges c
      WHERE ${chargesWhere(account, mode, {})} AND c.paid_at IS NOT NULL ${paidSql(query)}
      LIMIT ${SCANNED_MAX + 1}) c`)
  return found?.count ?? 0
}

/** Condition of these filters on rows that another condition has found. */
export function scannedSql(filters: ScannedFilters): Prisma.Sql {
  return Prisma.sql`${paidSql(filters)} ${metadataSql(filters)}`
}

function paidSql({ paid_from: from, paid_to: to }: ScannedFilters): Prisma.Sql {
  return Prisma.sql`
    ${sqlIfDefined(from, Prisma.sql`AND c.paid_at >= ${from}::timestamptz`)}
    ${sqlIfDefined(to, Prisma.sql`AND c.paid_at < ${to}::timestamptz`)}`
}

/** No charge is paid before it is created. */
function createdSql({ paid_to: to }: ScannedFilters): Prisma.Sql {
  return to ? Prisma.sql`AND c.id < ${idUpperBoundAt(Date.parse(to))}::uuid` : Prisma.empty
}

/** Compares the value as text, which is the same for the number 1048 and the string "1048". */
function metadataSql({ metadata = [] }: ScannedFilters): Prisma.Sql {
  const isEqual = metadata.map(([key, value]) => Prisma.sql`AND c.metadata ->> ${key} = ${value}`)
  return isEqual.length > 0 ? Prisma.join(isEqual, ' ') : Prisma.empty
}
