import { Prisma, pool, statementName } from '#lib/base/db/client.ts'

/**
 * Runs a statement whose only column `json` has each row as JSON text. For hot paths: it skips the
 * ORM, which would double the CPU time of the process per statement.
 */
export async function queryRows<Row>({ text, values }: Prisma.Sql): Promise<Row[]> {
  const name = statementName(text)
  const { rows } = await pool().query<{ json: string }>({ name, text, values })
  return rows.map(({ json }) => JSON.parse(json))
}

/** Returns SQL that selects columns as one JSON value. Times must be selected with `utc()`. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
