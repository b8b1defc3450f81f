import { Prisma } from '#lib/db/client.ts'

/** A time as it goes over the wire: UTC with all six digits, which a JavaScript Date would cut. */
export function utc(column: string): Prisma.Sql {
  return Prisma.raw(
    `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${column.split('.').at(-1)}`,
  )
}
