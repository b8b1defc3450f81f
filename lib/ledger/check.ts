import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { connect, type Database, db, Prisma, retryOnConflict, type Tx } from '#lib/db/client.ts'
import {
  BALANCE,
  INVARIANTS,
  ROW_KEYS,
  type RowScope,
  type RowTable,
  RUNNING,
  violationSql,
} from '#lib/ledger/invariants.ts'

const CHECK_INTERVAL = '1 hour'
/** Time limit of a run. A run starts each minute; remaining accounts wait for the next. */
const RUN_MAX_MS = 3_000
/** Time for an account in turn: one with many new movements delays the others by no more. */
const VISIT_MAX_MS = 1_000
const DUE_MAX = 200
/** Rows verified in one step, which has a snapshot of its own and takes about 0.2 s. */
const STEP_ROWS = 5_000
/** Time in which all older rows are verified again; with late checks, this is done within a week. */
const ROUND_MS = 6 * 86_400_000
/** Older rows are verified again in slices of at least so many: an account with few is read once per round. */
const SLICE_ROWS_MIN = 500

interface CheckLimits {
  /** Ends the check after the step in progress; the next check goes on there. */
  signal?: AbortSignal
  /** The same at this time of `performance`. */
  until?: number
}

/** `busy`: another worker is checking the account. */
type CheckEnd = 'done' | 'busy' | 'stopped'

/** Checks accounts that are due, each in steps. Returns how many checks have ended. */
export async function checkLedgers(
  timeLimitMs = RUN_MAX_MS,
  signal?: AbortSignal,
): Promise<number> {
  const due = await db().$queryRaw<{ id: string }[]>`
    SELECT a.id FROM (SELECT id FROM accounts UNION ALL SELECT ${OPERATOR_ACCOUNT_ID}::uuid) a
    LEFT JOIN ledger_checks k ON k.account_id = a.id
    WHERE k.account_id IS NULL OR k.checked_at < now() - ${CHECK_INTERVAL}::interval
    ORDER BY k.checked_at NULLS FIRST, a.id LIMIT ${DUE_MAX}`
  if (due.length === 0) return 0
  // Its own connection: it must not wait for one of the requests' pool.
  const database = connect({ poolMax: 1 })
  const end = performance.now() + timeLimitMs
  let checked = 0
  try {
    for (const { id } of due) {
      if (signal?.aborted || performance.now() >= end) break
      const until = Math.min(end, performance.now() + VISIT_MAX_MS)
      const ended = await checkLedger(database, id, { signal, until }).catch(error => {
        log().error({ err: error, accountId: id }, 'ledger check failed')
      })
      if (ended === 'done') checked += 1
      // Its turn comes again after the other accounts.
      if (ended === 'stopped') due.push({ id })
    }
    return checked
  } finally {
    await database.$disconnect()
  }
}

/**
 * Verifies one ledger and stores the result: what is new since the last check, a slice of the older rows, and the
 * balances. Where something is wrong, neither goes on, so each check finds it again until it is right. Each step
 * stores how far it has come.
 */
export async function checkLedger(
  database: Database,
  accountId: string,
  { signal, until = Number.POSITIVE_INFINITY }: CheckLimits = {},
): Promise<CheckEnd> {
  for (;;) {
    const step = await retryOnConflict(() => withSnapshot(database, tx => takeStep(tx, accountId)))
    if (step.wrong) log().error({ accountId, wrong: step.wrong }, 'ledger is not balanced')
    if (step.state !== 'more') return step.state
    if (signal?.aborted || performance.now() >= until) return 'stopped'
  }
}

interface Step {
  state: 'more' | 'done' | 'busy'
  wrong?: string | null
}

async function takeStep(tx: Tx, accountId: string): Promise<Step> {
  await pinPlans(tx)
  const [start] = await tx.$queryRaw<{ at: Date; locked: boolean }[]>`
    SELECT now() AS at,
      pg_try_advisory_xact_lock(hashtextextended('ledger check ' || ${accountId}, 0)) AS locked`
  if (!start?.locked) return { state: 'busy' }
  const range = await findNewEntries(tx, accountId)
  const slice = range ? null : await findDueSlice(tx, accountId, start.at)
  let wrong: string | null
  if (range) wrong = await verifyNew(tx, accountId, range)
  else if (slice) wrong = await verifySlice(tx, accountId, slice)
  else wrong = await verifyBalances(tx, accountId)
  if (wrong === null && (range || slice)) return { state: 'more' }
  await storeResult(tx, accountId, start.at, wrong)
  return { state: 'done', wrong }
}

/**
 * Leaves look-ups by keys only: left alone, or misled by statistics, PostgreSQL hashes all rows of the account for
 * a few new ones (0.2 s against 39 s at 2 million movements). One core, to leave the others to requests.
 */
async function pinPlans(tx: Tx): Promise<void> {
  await tx.$executeRaw`
    SELECT set_config(name, 'off', true) FROM (VALUES ('enable_hashjoin'), ('enable_mergejoin'),
      ('enable_seqscan'), ('enable_material'), ('enable_memoize'), ('jit')) AS t (name)
    UNION ALL SELECT set_config('max_parallel_workers_per_gather', '0', true)`
}

async function storeResult(tx: Tx, accountId: string, at: Date, wrong: string | null) {
  await tx.$executeRaw`
    INSERT INTO ledger_checks (account_id, checked_at, wrong)
    VALUES (${accountId}::uuid, ${at}, ${wrong})
    ON CONFLICT (account_id) DO UPDATE SET checked_at = excluded.checked_at, wrong = excluded.wrong
    WHERE ledger_checks.checked_at < excluded.checked_at`
}

/** The parts of all invariants, each as an invariant of its own. */
const PARTS = INVARIANTS.flatMap(check =>
  check.parts.map(part => ({ ...part, check: { ...check, parts: [part] } })),
)
type Part = (typeof PARTS)[number]
const PARTS_OF_MOVEMENTS = PARTS.filter(
  ({ of }) => of !== 'ledger_entries' && of !== 'ledger_accounts' && of !== 'all_entries',
)

async function findViolation(tx: Tx, invariant: string, sql: Prisma.Sql): Promise<string | null> {
  const violation = await describeViolation(tx, sql)
  return violation && `${invariant}: ${violation}`
}

function verifyPart(tx: Tx, { check }: Part, scope: RowScope): Promise<string | null> {
  return findViolation(tx, check.invariant, violationSql(check, scope))
}

/**
 * A scope of a few rows, read by the key first. What they are compared with is looked up by keys of theirs: beside
 * the account as a constant, PostgreSQL would read all rows of the account again for each, misled by statistics.
 */
function rowsScope(rows: Prisma.Sql, entryBefore: Prisma.Sql | null = null): RowScope {
  return { from: () => Prisma.sql`(${rows} OFFSET 0) t`, condition: Prisma.sql`true`, entryBefore }
}

// What is new: entries after the mark of their ledger.

/** Entries of a ledger after the last verified one. */
interface NewEntries {
  mode: string
  ledger: string
  after: bigint
  to: bigint
}

async function findNewEntries(tx: Tx, accountId: string): Promise<NewEntries | null> {
  const [range] = await tx.$queryRaw<NewEntries[]>`
    SELECT l.mode, l.ledger, COALESCE(m.version, 0) AS after,
      LEAST(l.version, COALESCE(m.version, 0) + ${STEP_ROWS}::int) AS to
    FROM ledger_accounts l LEFT JOIN ledger_marks m
      ON m.account_id = l.account_id AND m.mode = l.mode AND m.ledger = l.ledger
    WHERE l.account_id = ${accountId}::uuid AND l.version > COALESCE(m.version, 0)
    ORDER BY l.mode, l.ledger LIMIT 1`
  return range ?? null
}

/** Verifies new entries, their transfers and the rows that those tell of, then moves the mark. */
async function verifyNew(
  tx: Tx,
  accountId: string,
  { mode, ledger, after, to }: NewEntries,
): Promise<string | null> {
  const account = Prisma.sql`${accountId}::uuid`
  const isNew = Prisma.sql`t.account_id = ${account} AND t.mode = ${mode} AND t.ledger = ${ledger}
    AND t.version > ${after}::bigint AND t.version <= ${to}::bigint`
  const entries = Prisma.sql`SELECT t.* FROM ledger_entries t
    WHERE t.account_id = ${account} AND t.mode = ${mode} AND t.ledger = ${ledger}
      AND t.version >= ${after}::bigint AND t.version <= ${to}::bigint ORDER BY t.version`
  const before = Prisma.sql`(${mode}::text, ${ledger}::text, ${after}::bigint)`
  for (const part of PARTS.filter(({ of }) => of === 'ledger_entries')) {
    const wrong = await verifyPart(tx, part, rowsScope(entries, before))
    if (wrong) return wrong
  }
  const kinds = await tx.$queryRaw<{ kind: string; ids: string[]; credited: string[] | null }[]>`
    SELECT t.kind, array_agg(t.subject_id::text) AS ids,
      array_agg(t.subject_id::text) FILTER (WHERE t.amount > 0) AS credited
    FROM ledger_entries t WHERE ${isNew} GROUP BY t.kind ORDER BY t.kind`
  for (const { kind, ids, credited } of kinds) {
    for (const part of PARTS_OF_MOVEMENTS) {
      if (part.kinds && !part.kinds.includes(kind)) continue
      // What is about certain kinds is verified once, with the side that was credited.
      const subjects = part.kinds ? (credited ?? []) : ids
      if (subjects.length === 0) continue
      const rows = rowsToldBy(part, { kind, account, subjects })
      const wrong = await verifyPart(tx, part, rowsScope(rows))
      if (wrong) return wrong
    }
  }
  const moved = await tx.$executeRaw`
    INSERT INTO ledger_marks (account_id, mode, ledger, version, balance)
    SELECT t.account_id, t.mode, t.ledger, t.version, t.balance_after FROM ledger_entries t
    WHERE t.account_id = ${account} AND t.mode = ${mode} AND t.ledger = ${ledger}
      AND t.version = ${to}::bigint
    ON CONFLICT (account_id, mode, ledger)
      DO UPDATE SET version = excluded.version, balance = excluded.balance`
  return moved === 1 ? null : `${RUNNING}: account ${accountId}, ${mode}: ${ledger} entry ${to}`
}

/** SQL of the rows of the part's table that movements of a kind tell of. */
function rowsToldBy(
  part: Part,
  { kind, account, subjects }: { kind: string; account: Prisma.Sql; subjects: string[] },
): Prisma.Sql {
  const table = part.of as RowTable
  const isOfKind = table === 'ledger_transfers' ? Prisma.sql`AND x.kind = ${kind}` : Prisma.empty
  const key = Prisma.raw(Object.keys(ROW_KEYS[table]).at(-1) ?? 'id')
  const ids = Prisma.sql`SELECT unnest(${subjects}::uuid[]) AS id`
  const keys = part.toldBy
    ? Prisma.sql`SELECT DISTINCT k.id FROM (${ids} OFFSET 0) u
        CROSS JOIN LATERAL (${part.toldBy(account)} OFFSET 0) k (id)`
    : ids
  return Prisma.sql`SELECT x.* FROM (${keys} OFFSET 0) k CROSS JOIN LATERAL (
    SELECT x.* FROM ${Prisma.raw(table)} x
    WHERE x.account_id = ${account} ${isOfKind} AND x.${key} = k.id OFFSET 0) x`
}

// What is older: slices of each table, in the order of its keys, round after round.

const TABLES = Object.keys(ROW_KEYS) as RowTable[]

interface StoredSlice {
  part: RowTable
  /** Key of the last verified row; null at the beginning. */
  position: string[] | null
  rows: number
  rowsBefore: number | null
  begunAt: Date
}

interface Slice extends StoredSlice {
  at: Date
  rowsMax: number
}

async function findDueSlice(tx: Tx, accountId: string, at: Date): Promise<Slice | null> {
  const stored = await tx.$queryRaw<(StoredSlice & { entries: number })[]>`
    SELECT s.part, s.position, s.rows, s.rows_before AS "rowsBefore", s.begun_at AS "begunAt",
      (SELECT COALESCE(sum(m.version), 0)::float8 FROM ledger_marks m
        WHERE m.account_id = ${accountId}::uuid) AS entries
    FROM ledger_slices s WHERE s.account_id = ${accountId}::uuid ORDER BY s.part`
  if (stored.length < TABLES.length)
    await tx.$executeRaw`
      INSERT INTO ledger_slices (account_id, part)
      SELECT ${accountId}::uuid, t.part FROM unnest(${TABLES}::text[]) AS t (part)
      ON CONFLICT DO NOTHING`
  for (const slice of stored) {
    const rowsMax = countDue(slice, slice.entries, at)
    if (rowsMax > 0) return { ...slice, rowsMax, at }
  }
  return null
}

/** Rows that are due by now, in proportion to the time of the round; at its end, all that are left. */
function countDue({ rows, rowsBefore, begunAt }: StoredSlice, entries: number, at: Date): number {
  const share = (at.getTime() - begunAt.getTime()) / ROUND_MS
  if (share >= 1) return STEP_ROWS
  const due = Math.floor(share * (rowsBefore ?? entries)) - rows
  return due < SLICE_ROWS_MIN ? 0 : Math.min(due, STEP_ROWS)
}

async function verifySlice(tx: Tx, accountId: string, slice: Slice): Promise<string | null> {
  const { part: table, position, rowsMax } = slice
  const columns = Object.entries(ROW_KEYS[table])
  const key = Prisma.raw(columns.map(([name]) => `t.${name}`).join(', '))
  const asText = Prisma.raw(columns.map(([name]) => `t.${name}::text`).join(', '))
  const rowOf = (values: string[]) =>
    Prisma.sql`(${Prisma.join(columns.map(([, type], at) => Prisma.sql`${values[at]}::${Prisma.raw(type)}`))})`
  const before = position && rowOf(position)
  const account = Prisma.sql`t.account_id = ${accountId}::uuid`
  const [last] = await tx.$queryRaw<{ key: string[]; rows: number }[]>`
    SELECT k.key, k.nth::int AS rows FROM (
      SELECT ARRAY[${asText}] AS key, row_number() OVER (ORDER BY ${key}) AS nth
      FROM ${Prisma.raw(table)} t
      WHERE ${account} ${before ? Prisma.sql`AND (${key}) > ${before}` : Prisma.empty}
      ORDER BY ${key} LIMIT ${rowsMax}::int) k
    ORDER BY k.nth DESC LIMIT 1`
  if (last) {
    // The entry before is read, too: the first one of the slice goes on from its balance.
    const isAfter = Prisma.raw(table === 'ledger_entries' ? '>=' : '>')
    const from = before ? Prisma.sql`AND (${key}) ${isAfter} ${before}` : Prisma.empty
    const rows = Prisma.sql`SELECT t.* FROM ${Prisma.raw(table)} t
      WHERE ${account} ${from} AND (${key}) <= ${rowOf(last.key)} ORDER BY ${key}`
    for (const part of PARTS.filter(({ of }) => of === table)) {
      const wrong = await verifyPart(tx, part, rowsScope(rows, before))
      if (wrong) return wrong
    }
  }
  await storeSlice(tx, accountId, slice, last ?? null)
  return null
}

async function storeSlice(
  tx: Tx,
  accountId: string,
  { part, rows, rowsMax, at }: Slice,
  last: { key: string[]; rows: number } | null,
): Promise<void> {
  const verified = rows + (last?.rows ?? 0)
  const isEnd = (last?.rows ?? 0) < rowsMax
  await tx.$executeRaw`
    UPDATE ledger_slices SET ${
      isEnd
        ? Prisma.sql`position = NULL, rows = 0, rows_before = ${verified}::int, begun_at = ${at}`
        : Prisma.sql`position = ${last?.key}::text[], rows = ${verified}::int`
    }
    WHERE account_id = ${accountId}::uuid AND part = ${part}`
}

// The balances: few rows, always verified.

async function verifyBalances(tx: Tx, accountId: string): Promise<string | null> {
  const scope = accountScope(accountId)
  const { condition } = scope
  const wrongMark = Prisma.sql`
    SELECT t.account_id, t.mode, t.ledger || ' entry ' || t.version AS place FROM ledger_marks t
    LEFT JOIN ledger_entries e ON e.account_id = t.account_id AND e.mode = t.mode
      AND e.ledger = t.ledger AND e.version = t.version
    WHERE ${condition} AND e.balance_after IS DISTINCT FROM t.balance
    ORDER BY t.account_id, t.mode, t.ledger LIMIT 1`
  const wrongBalance = Prisma.sql`
    SELECT t.account_id, t.mode, t.ledger || ' balance' AS place FROM ledger_accounts t
    LEFT JOIN LATERAL (
      SELECT e.version, e.balance_after FROM ledger_entries e WHERE e.account_id = t.account_id
        AND e.mode = t.mode AND e.ledger = t.ledger ORDER BY e.version DESC LIMIT 1) e ON true
    WHERE ${condition} AND (t.balance <> COALESCE(e.balance_after, 0) OR t.version <> COALESCE(e.version, 0))
    ORDER BY t.account_id, t.mode, t.ledger LIMIT 1`
  const found =
    (await findViolation(tx, RUNNING, wrongMark)) ??
    (await findViolation(tx, BALANCE, wrongBalance))
  if (found) return found
  for (const part of PARTS.filter(({ of }) => of === 'ledger_accounts')) {
    const wrong = await verifyPart(tx, part, scope)
    if (wrong) return wrong
  }
  return null
}

interface LedgerFinding {
  invariant: string
  violation: string | null
}

export interface Verification {
  transfers: number
  entries: number
  ledgers: number
  findings: LedgerFinding[]
}

/** Verifies all ledgers, or one account's, in one snapshot. Only reads: safe beside a server. */
export function verifyLedger(database: Database, accountId?: string): Promise<Verification> {
  return withSnapshot(database, tx => verifyAll(tx, accountId))
}

export function withSnapshot<T>(database: Database, read: (tx: Tx) => Promise<T>): Promise<T> {
  const readUnlimited = async (tx: Tx) => {
    // The limit of requests holds here, too, behind a pooler that refuses the pool's settings.
    await tx.$executeRaw`SET LOCAL statement_timeout = 0`
    return read(tx)
  }
  const options = { isolationLevel: 'RepeatableRead', timeout: 3_600_000 } as const
  return database.$transaction(readUnlimited, options)
}

async function verifyAll(tx: Tx, accountId?: string): Promise<Verification> {
  const { condition: accountCondition } = accountScope(accountId)
  const findings = await listFindings(tx, accountId)
  const [counts] = await tx.$queryRaw<{ transfers: bigint; entries: bigint; ledgers: bigint }[]>`
    SELECT (SELECT count(*) FROM ledger_transfers t WHERE ${accountCondition}) AS transfers,
      (SELECT count(*) FROM ledger_entries t WHERE ${accountCondition}) AS entries,
      (SELECT count(*) FROM ledger_accounts t WHERE ${accountCondition}) AS ledgers`
  return {
    transfers: Number(counts?.transfers),
    entries: Number(counts?.entries),
    ledgers: Number(counts?.ledgers),
    findings,
  }
}

/** Returns every invariant, each with its first violation or null. */
async function listFindings(tx: Tx, accountId?: string): Promise<LedgerFinding[]> {
  await limitPlans(tx)
  const findings: LedgerFinding[] = []
  for (const check of INVARIANTS) {
    const violation = await describeViolation(tx, violationSql(check, accountScope(accountId)))
    findings.push({ invariant: check.invariant, violation })
  }
  return findings
}

/** Runs the SQL of a violation. Null: there is none. */
async function describeViolation(tx: Tx, sql: Prisma.Sql): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ account_id: string; mode: string; place: string }[]>(sql)
  return row ? `account ${row.account_id}, ${row.mode}: ${row.place}` : null
}

/**
 * Leaves hash joins on the whole key only. Misled by statistics, PostgreSQL picks nested loops, or merges by
 * `account_id` alone and compares all rows of an account with each other (15: over 700 s for 106,000 payments).
 */
export async function limitPlans(tx: Tx): Promise<void> {
  await tx.$executeRaw`SET LOCAL enable_nestloop = off`
  await tx.$executeRaw`SET LOCAL enable_mergejoin = off`
  // The cost of what is disabled and still needed would start the compiler, for 0.2 s per check.
  await tx.$executeRaw`SET LOCAL jit = off`
}

/** All rows of an account, or of all. */
export function accountScope(accountId: string | undefined): RowScope {
  const condition = accountId ? Prisma.sql`t.account_id = ${accountId}::uuid` : Prisma.sql`true`
  return { from: table => Prisma.raw(`${table} t`), condition }
}
