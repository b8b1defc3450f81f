import { Prisma } from '#lib/base/db/client.ts'
import type { ListQuery } from '#lib/base/fields.ts'
import { earliestIdAt, latestIdAt } from '#lib/base/ids.ts'

/**
 * Returns the conditions, order and limit of a list of `alias` rows, newest first. Reads one row
 * more than the limit, to know whether there is a next page.
 */
export function pageSql(alias: string, query: ListQuery): Prisma.Sql {
  return Prisma.sql`
    ${filterSql(alias, query)}
    ORDER BY ${Prisma.raw(alias)}.id DESC LIMIT ${query.limit + 1}`
}

/**
 * Returns the WHERE conditions of a list. A period is a range of ids, which sort by time, refined
 * by `created_at`.
 */
export function filterSql(alias: string, query: Omit<ListQuery, 'limit'>): Prisma.Sql {
  const { status, external_id, created_from: from, created_to: to, cursor } = query
  const row = Prisma.raw(alias)
  const after = from && earliestIdAt(Date.parse(from))
  const before = to && latestIdAt(Date.parse(to))
  return Prisma.sql`
    ${sqlIfDefined(status, Prisma.sql`AND ${row}.status = ${status}`)}
    ${sqlIfDefined(external_id, Prisma.sql`AND ${row}.external_id = ${external_id}`)}
    ${sqlIfDefined(cursor, Prisma.sql`AND ${row}.id < ${cursor}::uuid`)}
    ${sqlIfDefined(from, Prisma.sql`AND ${row}.created_at >= ${from}::timestamptz AND ${row}.id >= ${after}::uuid`)}
    ${sqlIfDefined(to, Prisma.sql`AND ${row}.created_at < ${to}::timestamptz AND ${row}.id < ${before}::uuid`)}`
}

export function sqlIfDefined(value: unknown, sql: Prisma.Sql): Prisma.Sql {
  return value === undefined ? Prisma.empty : sql
}

export interface Page<Row> {
  rows: Row[]
  nextCursor: string | null
}

export function toPage<Row extends { id: string }>(found: Row[], limit: number): Page<Row> {
  const rows = found.slice(0, limit)
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
}
