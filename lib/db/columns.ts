import { Prisma } from '#lib/db/client.ts'

/** A time as it goes over the wire: UTC with all six digits, which a JavaScript Date would cut. */
export function utc(column: string): Prisma.Sql {
  return Prisma.raw(
    `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${column.split('.').at(-1)}`,
  )
}

/** An account, by its id or by SQL that yields it and refuses the statement when it must not. */
export type AccountRef = string | Prisma.Sql

export function accountSql(account: AccountRef): Prisma.Sql {
  return typeof account === 'string' ? Prisma.sql`${account}::uuid` : account
}
