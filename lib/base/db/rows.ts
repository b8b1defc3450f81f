import type { QueryResult } from 'pg'
import { BoundedQuery } from '#lib/base/db/bounded-query.ts'
import { Prisma, pool, statementName } from '#lib/base/db/client.ts'

/** Column `json` is JSON text. Skips the ORM, which would double the CPU time per statement. */
export async function queryRows<Row>({ text, values }: Prisma.Sql): Promise<Row[]> {
  const name = statementName(text)
  const { rows } = await pool().query<{ json: string }>({ name, text, values })
  return rows.map(({ json }) => JSON.parse(json))
}

/** Reads rows up to `bytesMax` bytes of JSON, but always the first. `isCut` if rows were omitted. */
export async function queryRowsWithin<Row>(
  { text, values }: Prisma.Sql,
  bytesMax: number,
): Promise<{ rows: Row[]; isCut: boolean }> {
  const query = new BoundedQuery({ name: statementName(text), text, values }, bytesMax)
  // The pool's types promise the query itself; it returns a promise of the result.
  const result: unknown = await pool().query(query)
  const { rows } = result as QueryResult<{ json: string }>
  return { rows: rows.map(({ json }) => JSON.parse(json)), isCut: query.isCut }
}

/** Returns SQL that selects columns as one JSON value. Times must be selected with `utc()`. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
