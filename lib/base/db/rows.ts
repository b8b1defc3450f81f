import { Prisma, pool, statementName } from '#lib/base/db/client.ts'

/** Column `json` is JSON text. Skips the ORM, which would double the CPU time per statement. */
export async function queryRows<Row>({ text, values }: Prisma.Sql): Promise<Row[]> {
  const name = statementName(text)
  const { rows } = await pool().query<{ json: string }>({ name, text, values })
  return rows.map(({ json }) => JSON.parse(json))
}

/** Returns SQL that selects columns as one JSON value. Times must be selected with `utc()`. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
