import { BUCKET_DIGITS } from '#lib/core/ids.ts'
import { HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { REQUEST_ID_PLACE } from '#lib/core/trace.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'

/** Formats a time column as UTC with microseconds, which a JavaScript Date would truncate. */
/** For `AT TIME ZONE`. */
export const homeZone = Prisma.raw(`'${HOME_TIME_ZONE}'`)

export function utc(column: string, name = column.split('.').at(-1) ?? column): Prisma.Sql {
  return Prisma.sql`${utcText(column)} AS ${Prisma.raw(name)}`
}

export function utcText(column: string): Prisma.Sql {
  return Prisma.raw(`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
}

/** Whether an account `a` can have made a routable id: few accounts are looked into for it. */
export function isInBucket(id: string | Prisma.Sql): Prisma.Sql {
  const digits = Prisma.raw(String(BUCKET_DIGITS))
  return Prisma.sql`right(a.id::text, ${digits}) = right(${id}::text, ${digits})`
}

/** The request id in a column `trace`, as the index events_trace_request_idx has it. */
export function requestIdOf(alias: string): Prisma.Sql {
  return Prisma.raw(`substr(${alias}.trace, ${REQUEST_ID_PLACE})`)
}

/**
 * `proof` is SQL that returns the id, or fails the statement if the caller is invalid. `lockMember` is
 * the same for a member, as a statement of its own: members lie on another side than money.
 */
export type AccountRef =
  | string
  | { id: string; proof: Prisma.Sql }
  | { id: string; lockMember: (tx: Tx) => Promise<void> }

export function accountIdOf(account: AccountRef): string {
  return typeof account === 'string' ? account : account.id
}

export function memberLockOf(account: AccountRef): ((tx: Tx) => Promise<void>) | null {
  return typeof account !== 'string' && 'lockMember' in account ? account.lockMember : null
}

function proofOf(account: AccountRef): Prisma.Sql | null {
  return typeof account !== 'string' && 'proof' in account ? account.proof : null
}

export function accountSql(account: AccountRef): Prisma.Sql {
  return proofOf(account) ?? Prisma.sql`${accountIdOf(account)}::uuid`
}

/**
 * Returns a WHERE condition for rows of the account. The proof is a separate condition: compared
 * with a column, it would not run if no row exists, and an invalid caller would get an empty list.
 */
export function accountCondition(alias: string, account: AccountRef): Prisma.Sql {
  const row = Prisma.raw(alias)
  const proof = proofOf(account)
  const isOfAccount = Prisma.sql`${row}.account_id = ${accountIdOf(account)}::uuid`
  return proof ? Prisma.sql`${proof} IS NOT NULL AND ${isOfAccount}` : isOfAccount
}

/** Rows of older versions have only a sentence, in the column `text`; their code is `other`. */
export function reasonColumns(
  alias: string,
  name: string,
  text = name,
  outputName = name,
): Prisma.Sql {
  const [code, params, sentence] = [`${name}_code`, `${name}_params`, text].map(
    column => `${alias}.${column}`,
  )
  return Prisma.raw(`
    COALESCE(${code}, CASE WHEN ${sentence} IS NOT NULL THEN 'other' END) AS ${outputName}_code,
    COALESCE(${params}, CASE WHEN ${sentence} IS NOT NULL
      THEN json_build_object('text', ${sentence}) END) AS ${outputName}_params`)
}
