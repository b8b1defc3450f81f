import { db, Prisma } from '#lib/db/client.ts'

/**
 * For hot reads: a statement whose only column `json` holds each row as JSON text. The ORM converts
 * every value of every row by itself, which costs more than the statement does.
 */
export async function queryRows<Row>(statement: Prisma.Sql): Promise<Row[]> {
  const rows = await db().$queryRaw<{ json: string }[]>(statement)
  return rows.map(({ json }) => JSON.parse(json))
}

/** These columns as one JSON value, with times as `utc()` writes them and JSON as it was sent. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
