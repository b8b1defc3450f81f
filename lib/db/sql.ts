import { Gate, rest } from '#lib/core/concurrency.ts'
import { parseExactJson } from '#lib/core/exact-json.ts'
import { BUCKET_DIGITS } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { currentLogContext } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { TAX_ID_FORM } from '#lib/core/pix/hide-tax-ids.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { REQUEST_ID_PLACE } from '#lib/core/trace.ts'
import { createSharing } from '#lib/db/batch.ts'
import {
  Prisma,
  pool,
  retryOnConflict,
  statementName,
  type Tx,
  transaction,
} from '#lib/db/client.ts'
import type { TextRow } from '#lib/db/fair-pool.ts'

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
  if (!tx) return queryText(statement.text, statement.values)
  const rows = await tx.$queryRaw<JsonRow[]>(statement)
  return rows.map(row => parseRow<Row>(row))
}

/** The same for a text that was composed before. */
export async function queryText<Row>(text: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await pool().run<JsonRow>({ name: statementName(text), text, values })
  return rows.map(row => parseRow<Row>(row))
}

/** Runs a statement for several requests at once, which lib/db/batch.ts collects. Its values and columns are texts. */
export function queryShared(text: string, values: (string | null)[]): Promise<TextRow[]> {
  return pool().runShared({ name: statementName(text), text, values })
}

/** Formats an array parameter. */
function toArrayText(items: (string | null)[]): string {
  const texts = items.map(item => (item === null ? 'NULL' : `"${item.replace(/["\\]/g, '\\$&')}"`))
  return `{${texts.join(',')}}`
}

interface SharedRead<Keys, Row> {
  types: { [Name in keyof Keys]: 'uuid' | 'text' }
  /** Selects the columns, and names the keys `k.<name>`. */
  rowSql: Prisma.Sql
  /** Default: `json`. */
  columns?: string[]
  /** Default: parses the first column. */
  readRow?: (texts: TextRow, keys: Keys) => Row
}

/**
 * Returns a function that reads one row by its keys, or null. Calls of one turn of the event loop, or
 * during a statement, share one. Fails on a standby, which can lack what was acknowledged
 * (docs/decisions/005). Callers take turns by the first key.
 */
export function createSharedRead<Keys extends Record<string, string | null>, Row>({
  types,
  rowSql,
  columns = ['json'],
  readRow = ([json = null]) => parseRow<Row>({ json }),
}: SharedRead<Keys, Row>): (keys: Keys) => Promise<Row | null> {
  if (rowSql.values.length > 0)
    throw new Invariant('the row of a shared read has values of its own')
  const names = Object.keys(types)
  const [first = ''] = names
  const [guarded = '', ...others] = columns.map(name => `r.${name}::text`)
  const texts = Prisma.raw(
    [`CASE WHEN pg_is_in_recovery() THEN troco_refuse_caller()::text ELSE ${guarded} END`]
      .concat(others)
      .join(', '),
  )
  const selectFrom = (keys: Prisma.Sql) =>
    // OFFSET 0 keeps the planner from joining whole tables: each row is looked up by its index.
    Prisma.sql`
      SELECT k.n, ${texts}
      FROM ${keys} LEFT JOIN LATERAL (${rowSql} OFFSET 0) r ON true`.text
  const arrays = names.map(name => arrayOf(types[name] as string, []))
  const sharedText = selectFrom(
    Prisma.sql`unnest(${Prisma.join(arrays)}) WITH ORDINALITY AS k (${Prisma.raw(names.join(', '))}, n)`,
  )
  // A tenth less work for PostgreSQL than the other statement with one row.
  const keys = names.map(
    name => Prisma.sql`${''}::${Prisma.raw(types[name] as string)} AS ${Prisma.raw(name)}`,
  )
  const loneText = selectFrom(Prisma.sql`(SELECT 1 AS n, ${Prisma.join(keys)}) k`)
  return createSharing<Keys, Row | null>({
    callerOf: keys => keys[first] ?? '',
    run: async items => {
      const valuesOf = (name: string) => items.map(keys => keys[name] ?? null)
      const rows =
        items.length === 1
          ? await queryShared(loneText, names.flatMap(valuesOf))
          : await queryShared(
              sharedText,
              names.map(name => toArrayText(valuesOf(name))),
            )
      const found = Array<Row | null>(items.length).fill(null)
      for (const [n, ...texts] of rows) {
        const at = Number(n) - 1
        const keys = items[at]
        if (keys && texts[0] !== null) found[at] = readRow(texts, keys)
      }
      return found
    },
  })
}

/** A row that belongs to an account and a mode: that of an id, or the only one. */
export interface AccountRow<Row> {
  /** Selects the row as `json`. Also part of the look-up of a token, whose caller asks for the row. */
  rowSql: (account: Prisma.Sql, mode: Prisma.Sql, id: Prisma.Sql) => Prisma.Sql
  find: (accountId: string, mode: Mode, id: string | null) => Promise<Row | null>
}

export function accountRow<Row>(rowSql: AccountRow<Row>['rowSql']): AccountRow<Row> {
  const read = createSharedRead<{ account: string; mode: string; id: string | null }, Row>({
    types: { account: 'uuid', mode: 'text', id: 'uuid' },
    rowSql: rowSql(Prisma.raw('k.account'), Prisma.raw('k.mode'), Prisma.raw('k.id')),
  })
  return { rowSql, find: (account, mode, id) => read({ account, mode, id }) }
}

/**
 * Runs a statement that writes, again after a conflict. For a member, locks the membership first, in
 * the same transaction: a removal or change of the role takes effect before it or after it.
 */
export function writeRows<Row>(account: Authority, statement: Prisma.Sql): Promise<Row[]> {
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
    const { rows } = await pool().run<JsonRow>({ name: statementName(text), text, values })
    const bytesOf = ({ json }: JsonRow) => Buffer.byteLength(json ?? '')
    const { kept, bytes } = limitRows(rows, bytesOf, bytesMax)
    return { rows: kept.map(row => parseRow<Row>(row)), isCut: kept.length < rows.length, bytes }
  })
}

/**
 * The same for a statement that selects columns instead of one of JSON, in two thirds of the database's time. Times must be
 * selected with `utc()`; values of JSON columns are those of free fields, and no column is an array.
 */
export async function queryColumnsWithin<Row>(
  { text, values }: Prisma.Sql,
  bytesMax: number,
): Promise<{ rows: Row[]; isCut: boolean }> {
  return readWithinBudget(async () => {
    const config = { name: statementName(text), text, values, rowMode: 'array', types: AS_TEXT }
    const { rows, fields } = await pool().run<(string | null)[]>(config)
    const columns = fields.map(({ name, dataTypeID }) => ({ name, read: READERS[dataTypeID] }))
    const lengthOf = (row: (string | null)[]) =>
      row.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    const length = rows.reduce((sum, row) => sum + lengthOf(row), 0)
    const bytesOf = (row: (string | null)[]) => Buffer.byteLength(row.join(''))
    const isShort = length * CHARACTER_BYTES_MAX <= bytesMax
    const { kept, bytes } = limitRows(rows, isShort ? lengthOf : bytesOf, bytesMax)
    const read = (row: (string | null)[]) => {
      const shown: Record<string, unknown> = {}
      for (const [index, { name, read }] of columns.entries()) {
        const value = row[index] ?? null
        shown[name] = value !== null && read ? read(value) : value
      }
      return shown as Row
    }
    return { rows: kept.map(read), isCut: kept.length < rows.length, bytes }
  })
}

/** Keeps rows up to `bytesMax` bytes, but always the first. */
function limitRows<Row>(rows: Row[], bytesOf: (row: Row) => number, bytesMax: number) {
  let bytes = 0
  const kept = rows.filter((row, index) => {
    bytes += bytesOf(row)
    return index === 0 || bytes <= bytesMax
  })
  return { kept, bytes }
}

/** Bytes of UTF-8 that one unit of a JavaScript string takes at most. */
const CHARACTER_BYTES_MAX = 3

const keepText = (value: unknown) => value
const AS_TEXT = { getTypeParser: () => keepText }

const readFreeField = (text: string) =>
  (parseExactJson(`{"metadata":${text}}`) as { metadata: unknown }).metadata
const isTrue = (text: string) => text === 't'
/** By the ids of types in PostgreSQL: bool, int8, int2, int4, json. Values of other types stay texts. */
const READERS: Record<number, ((text: string) => unknown) | undefined> = {
  16: isTrue,
  20: Number,
  21: Number,
  23: Number,
  114: readFreeField,
}

/**
 * Condition of a read that a token may send: fails on a standby, to which a pooler may lead after the look-up, and which can
 * lack what was acknowledged (prisma/functions/troco_refuse_caller.sql). PostgreSQL evaluates it once, before the scan.
 */
export const onPrimary = Prisma.raw(
  '(NOT pg_is_in_recovery() OR troco_refuse_caller() IS NOT NULL)',
)

/** Returns SQL that selects columns as one JSON value. Times must be selected with `utc()`. */
export function asJson(columns: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT row_to_json(r) FROM (SELECT ${columns}) r)`
}

/** For `AT TIME ZONE`. */
export const homeZone = Prisma.raw(`'${HOME_TIME_ZONE}'`)

/** Formats a time column as UTC with microseconds, which a JavaScript Date would truncate. */
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
 * The account of a statement that moves money out, with what its caller must still be when it commits: `proof`
 * makes SQL that yields the id or fails the statement, `proven` is what it compares, for a statement of several requests.
 * `lockMember` does the same in a statement of its own.
 */
export type Authority =
  | string
  | { id: string; proof: () => Prisma.Sql; proven: Record<string, unknown> }
  | { id: string; lockMember: (tx: Tx) => Promise<void> }

export function accountIdOf(account: Authority): string {
  return typeof account === 'string' ? account : account.id
}

export function memberLockOf(account: Authority): ((tx: Tx) => Promise<void>) | null {
  return typeof account !== 'string' && 'lockMember' in account ? account.lockMember : null
}

export function accountSql(account: Authority): Prisma.Sql {
  if (typeof account !== 'string' && 'proof' in account) return account.proof()
  return Prisma.sql`${accountIdOf(account)}::uuid`
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

/** Common table expressions by name, in order. Entries that are null are omitted. */
export type Ctes = Record<string, Prisma.Sql | null>

/** Columns are typed keys: a part that needs a column that is not selected does not compile. */
export interface Source<Column extends string> {
  from: Prisma.Sql
  columns: Record<Column, Prisma.Sql>
}

export function joinCtes(ctes: Ctes): Prisma.Sql {
  const present = Object.entries(ctes).flatMap(([name, body]) =>
    body ? [Prisma.sql`${Prisma.raw(name)} AS (${body})`] : [],
  )
  return Prisma.join(present, ', ')
}

export function columnsOf<Column extends string>(
  alias: string,
  names: readonly Column[],
): Record<Column, Prisma.Sql> {
  const columns = names.map(name => [name, Prisma.raw(`${alias}.${name}`)])
  return Object.fromEntries(columns)
}

export function selectSource({ from, columns }: Source<string>): Prisma.Sql {
  const selected = Object.entries(columns).map(([name, value]) =>
    isColumn(value, name) ? value : Prisma.sql`${value} AS ${Prisma.raw(name)}`,
  )
  return Prisma.sql`SELECT ${Prisma.join(selected, ', ')} FROM ${from}`
}

function isColumn({ strings, values }: Prisma.Sql, name: string): boolean {
  return values.length === 0 && /^\w+\.(\w+)$/.exec(strings.join(''))?.[1] === name
}

/**
 * Returns an array parameter whose length the planner does not see. Else a plan for one row looks cheaper than
 * the plan for any number of rows, and PostgreSQL plans the statement anew for each call.
 */
export function arrayOf(type: string, values: unknown[]): Prisma.Sql {
  return Prisma.sql`(SELECT ${values}::${Prisma.raw(type)}[])`
}

/** Text without what has the form of a document, for a search by staff that sees documents masked. */
export function withoutTaxIds(text: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`regexp_replace(${text}, ${TAX_ID_FORM}, '*', 'g')`
}

/** Shorter endings would match by chance; without a digit they would be words. */
const TAIL = /^(?=.*\d)[0-9A-Z]{4,32}$/i

/** Returns the end of an end-to-end id, reversed in upper case; null if the text cannot be one. */
export function reverseTail(text: string): string | null {
  return TAIL.test(text) ? [...text.toUpperCase()].toReversed().join('') : null
}

/** Bytes that the reads of one account in progress have together, unless it is only one. */
const BUDGET = 1_024 * 1_024
/** As long as a request waits for a connection at most. */
const WAIT_MAX_MS = 30_000
/** After a read of this size its account rests. */
const LARGE_BYTES = 256 * 1_024
/** Expected of each read at least, also after empty ones: more than 16 large ones never begin at once. */
const EXPECTED_MIN = 64 * 1_024
/** Factor of the expected size after a smaller read: after a few small ones, a large one is still expected. */
const SIZE_DECAY = 0.9
/** Above it, accounts without a read in progress are forgotten. */
const BUDGETS_MAX = 10_000

interface ReadBudget {
  /** Bytes that the next read is expected to have. Before the first has ended, the whole budget. */
  expected: number | null
  gate: Gate
}

const budgets = processWide('read-budgets', () => new Map<string, ReadBudget>())

/**
 * Runs reads of one account at the same time while they fit into BUDGET, by the size of earlier ones.
 * Large reads end no sooner at the same time, and a request of another account would wait for a part
 * of each. Work of the process itself is not limited.
 */
export async function readWithinBudget<Result extends { bytes: number }>(
  read: () => Promise<Result>,
): Promise<Result> {
  const { accountId } = currentLogContext()
  if (accountId === undefined) return read()
  const budget = budgetOf(accountId)
  const deadline = performance.now() + WAIT_MAX_MS
  const taken = await budget.gate.enter(BUDGET, deadline, () => budget.expected ?? BUDGET)
  let bytes = 0
  try {
    const result = await read()
    bytes = result.bytes
    budget.expected = Math.max(bytes, EXPECTED_MIN, (budget.expected ?? 0) * SIZE_DECAY)
    return result
  } finally {
    if (bytes < LARGE_BYTES) budget.gate.leave(taken)
    else rest().then(() => budget.gate.leave(taken))
  }
}

function budgetOf(accountId: string): ReadBudget {
  const known = budgets.get(accountId)
  if (known) return known
  if (budgets.size >= BUDGETS_MAX)
    for (const [id, { gate }] of budgets) if (gate.isEmpty) budgets.delete(id)
  const budget = { expected: null, gate: new Gate() }
  budgets.set(accountId, budget)
  return budget
}
