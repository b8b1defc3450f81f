import { Prisma } from '#lib/base/db/client.ts'

/** A time as it goes over the wire: UTC with all six digits, which a JavaScript Date would cut. */
export function utc(column: string, name = column.split('.').at(-1) ?? column): Prisma.Sql {
  return Prisma.sql`${utcText(column)} AS ${Prisma.raw(name)}`
}

/** The same as a value without a name. */
export function utcText(column: string): Prisma.Sql {
  return Prisma.raw(`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
}

/** An account by its id, with SQL that yields the id or refuses the statement where there is doubt. */
export type AccountRef = string | { id: string; proof: Prisma.Sql }

/** The account's id, for a row that is written. */
export function accountSql(account: AccountRef): Prisma.Sql {
  return typeof account === 'string' ? Prisma.sql`${account}::uuid` : account.proof
}

/**
 * Rows of the account, for a WHERE. The proof stands by itself: a comparison with a column would not
 * be made where there is no row to compare, and an empty list told to whoever asks.
 */
export function ofAccount(alias: string, account: AccountRef): Prisma.Sql {
  const row = Prisma.raw(alias)
  return typeof account === 'string'
    ? Prisma.sql`${row}.account_id = ${account}::uuid`
    : Prisma.sql`${account.proof} IS NOT NULL AND ${row}.account_id = ${account.id}::uuid`
}

/**
 * Code and parameters of a reason that a row `alias` holds in `<name>_code` and `<name>_params`, with
 * its sentence in `text`. A row that an older process wrote has the sentence only: code `other`.
 */
export function factColumns(alias: string, name: string, text = name, as = name): Prisma.Sql {
  const [code, params, sentence] = [`${name}_code`, `${name}_params`, text].map(
    column => `${alias}.${column}`,
  )
  return Prisma.raw(`
    COALESCE(${code}, CASE WHEN ${sentence} IS NOT NULL THEN 'other' END) AS ${as}_code,
    COALESCE(${params}, CASE WHEN ${sentence} IS NOT NULL
      THEN json_build_object('text', ${sentence}) END) AS ${as}_params`)
}
