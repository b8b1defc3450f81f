import type { ListQuery } from '#lib/core/fields.ts'
import { idLowerBoundAt, idUpperBoundAt } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryColumnsWithin, queryRowsWithin } from '#lib/db/sql.ts'

/** Reads one row more than the limit, to know whether there is a next page. */
export function pageSql(alias: string, query: ListQuery): Prisma.Sql {
  return Prisma.sql`
    ${filterSql(alias, query)}
    ORDER BY ${Prisma.raw(alias)}.id DESC LIMIT ${query.limit + 1}`
}

/** A period is a range of ids, which sort by time, refined by `created_at`. */
export function filterSql(
  alias: string,
  query: Omit<ListQuery, 'limit' | 'status'> & { status?: string | string[] },
): Prisma.Sql {
  const { external_id, created_from: from, created_to: to, cursor } = query
  const row = Prisma.raw(alias)
  const after = from && idLowerBoundAt(Date.parse(from))
  const before = to && idUpperBoundAt(Date.parse(to))
  return Prisma.sql`
    ${sqlIfDefined(query.status, statusSql(row, query.status ?? []))}
    ${sqlIfDefined(external_id, Prisma.sql`AND ${row}.external_id = ${external_id}`)}
    ${sqlIfDefined(cursor, Prisma.sql`AND ${row}.id < ${cursor}::uuid`)}
    ${sqlIfDefined(from, Prisma.sql`AND ${row}.created_at >= ${from}::timestamptz AND ${row}.id >= ${after}::uuid`)}
    ${sqlIfDefined(to, Prisma.sql`AND ${row}.created_at < ${to}::timestamptz AND ${row}.id < ${before}::uuid`)}`
}

/** One status is compared with =, so that an index which begins with it gives the order. */
function statusSql(row: Prisma.Sql, status: string | string[]): Prisma.Sql {
  const [first, ...others] = new Set([status].flat())
  if (others.length === 0) return Prisma.sql`AND ${row}.status = ${first}`
  return Prisma.sql`AND ${row}.status IN (${Prisma.join([first, ...others])})`
}

export function sqlIfDefined(value: unknown, sql: Prisma.Sql): Prisma.Sql {
  return value === undefined ? Prisma.empty : sql
}

/** Bytes of JSON: hundreds of clients with 100 charges of 64 KiB each would fill the memory, and a page of 1 MiB holds up others for 30 ms. */
export const PAGE_BYTES_MAX = 256 * 1024

export interface Page<Row, Cursor = string> {
  rows: Row[]
  /** Cursor of the next page; null at the end. A page may have fewer rows than its limit. */
  nextCursor: Cursor | null
  /** Returns the cursor of a page that ends with this row. */
  cursorOf: (row: Row) => Cursor
}

export function readPage<Row extends { id: string }>(
  rows: Prisma.Sql,
  limit: number,
): Promise<Page<Row>>
export function readPage<Row, Cursor>(
  rows: Prisma.Sql,
  limit: number,
  cursorOf: (row: Row) => Cursor,
): Promise<Page<Row, Cursor>>
/** Reads a page with a statement of up to `limit + 1` ordered rows, whose column `json` is text. */
export async function readPage<Row>(
  rows: Prisma.Sql,
  limit: number,
  cursorOf: (row: Row) => unknown = idOf,
): Promise<Page<Row, unknown>> {
  const { rows: rowsRead, isCut } = await queryRowsWithin<Row>(rows, PAGE_BYTES_MAX)
  return toPage(rowsRead, limit, cursorOf, isCut)
}

/** The same with a statement that selects columns instead of one of JSON (`queryColumnsWithin`). */
export async function readPageOfColumns<Row extends { id: string }>(
  rows: Prisma.Sql,
  limit: number,
): Promise<Page<Row>> {
  const { rows: rowsRead, isCut } = await queryColumnsWithin<Row>(rows, PAGE_BYTES_MAX)
  return toPage(rowsRead, limit, idOf, isCut)
}

/** Makes a page of up to `limit + 1` rows. `isCut` if further rows were omitted. */
export function toPage<Row, Cursor>(
  rowsRead: Row[],
  limit: number,
  cursorOf: (row: Row) => Cursor,
  isCut = false,
): Page<Row, Cursor> {
  const rows = rowsRead.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = isCut || rowsRead.length > limit
  return { rows, nextCursor: hasMore && last !== undefined ? cursorOf(last) : null, cursorOf }
}

export function idOf(row: unknown): string {
  return (row as { id: string }).id
}

/** Reads page after page to the end. */
export async function* walkPages<Row>(
  read: (cursor?: string) => Promise<Pick<Page<Row>, 'rows' | 'nextCursor'>>,
): AsyncGenerator<Row[]> {
  let cursor: string | undefined
  do {
    const { rows, nextCursor } = await read(cursor)
    yield rows
    cursor = nextCursor ?? undefined
  } while (cursor)
}
