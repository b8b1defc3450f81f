import { Prisma, pool, statementName } from '#lib/base/db/client.ts'

/**
 * For hot paths: a statement whose only column `json` holds each row as JSON text, on the ORM's own
 * pool but past the ORM, whose way through a statement costs the process as much as the rest of it.
 */
export async function queryRows<Row>({ text, values }: Prisma.Sql): Promise<Row[]> {
  const name = statementName(text)
  const { rows } = await pool().query<{ json: string }>({ name, text, values })
  return rows.map(({ json }) => JSON.parse(json))
}

/** These columns as one JSON value, with times as `utc()` writes them and JSON as it was sent. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
