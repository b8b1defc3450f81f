import type { QueryResult } from 'pg'
import { parseExactJson } from '#lib/core/exact-json.ts'
import { BoundedQuery } from '#lib/db/bounded-query.ts'
import { Prisma, pool, statementName, type Tx } from '#lib/db/client.ts'
import { type AccountRef, memberLockOf } from '#lib/db/columns.ts'
import { readWithinBudget } from '#lib/db/read-budget.ts'
import { retryOnConflict, transaction } from '#lib/db/transaction.ts'

interface JsonRow {
  json: string | null
}

function parseRow<Row>({ json }: JsonRow): Row {
  return (json === null ? null : parseExactJson(json)) as Row
}

/**
 * Column `json` is JSON text, or null. Skips the ORM, which would double the CPU time per statement, unless
 * the statement belongs to a transaction of the ORM.
 */
export async function queryRows<Row>(statement: Prisma.Sql, tx?: Tx): Promise<Row[]> {
  const { text, values } = statement
  const rows = tx
    ? await tx.$queryRaw<JsonRow[]>(statement)
    : (await pool().query<JsonRow>({ name: statementName(text), text, values })).rows
  return rows.map(row => parseRow<Row>(row))
}

/**
 * Runs the statement of a verb, again after a conflict. For a member, locks the membership first, in
 * the same transaction: a removal or change of the role takes effect before it or after it.
 */
export function writeRows<Row>(account: AccountRef, statement: Prisma.Sql): Promise<Row[]> {
  const lockMember = memberLockOf(account)
  if (!lockMember) return retryOnConflict(() => queryRows<Row>(statement))
  return transaction(async tx => {
    await lockMember(tx)
    return queryRows<Row>(statement, tx)
  })
}

/** Reads rows up to `bytesMax` bytes of JSON, but always the first. `isCut` if rows were omitted. */
export async function queryRowsWithin<Row>(
  { text, values }: Prisma.Sql,
  bytesMax: number,
): Promise<{ rows: Row[]; isCut: boolean }> {
  return readWithinBudget(async () => {
    const query = new BoundedQuery({ name: statementName(text), text, values }, bytesMax)
    // The pool's types promise the query itself; it returns a promise of the result.
    const result: unknown = await pool().query(query)
    const { rows } = result as QueryResult<JsonRow>
    const { isCut, bytes } = query
    return { rows: rows.map(row => parseRow<Row>(row)), isCut, bytes }
  })
}

/** Returns SQL that selects columns as one JSON value. Times must be selected with `utc()`. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}
