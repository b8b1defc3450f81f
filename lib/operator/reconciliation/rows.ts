import { listPauseMs } from '#lib/banks/breaker.ts'
import type {
  ReceivedPayment,
  SentPayout,
  Statement,
  StatementEntry,
  StatementEntryKind,
} from '#lib/banks/gateway.ts'
import { type List, type ListFailure, readPages } from '#lib/banks/list-reader.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import { dayOf } from '#lib/core/locale.ts'
import { log } from '#lib/core/log.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import { type DayReading, endOf, isOver, startOf } from '#lib/operator/reconciliation/claim-day.ts'

/** `fee_return`: of a fee. `reversal`: the bank undid a payout or refund. `transfer`: other than by PIX. */
export type What =
  | ('payment' | 'refund' | 'payout' | 'payout_return')
  | ('fee' | 'fee_return' | 'reversal' | 'transfer')

type RowFacts = Record<string, string | number | null>

/** A movement of money as the bank names it. */
export interface BankRow {
  what: What
  /** Ids by which it is found here, the best one first. */
  keys: string[]
  /** In cents; negative when money leaves the account. */
  amount: number
  at: Date
  /** Payment or payout that a refund, payout or reversal is about. */
  payment?: string | null
  facts: RowFacts
}

/** The same movement in the books, or an order that has not moved money. */
export interface OwnRow {
  what: What
  keys: string[]
  amount: number
  /** Time of booking; null: nothing is booked. */
  at: Date | null
  state: 'booked' | 'pending' | 'rejected'
  facts: RowFacts
}

export interface DayToCompare {
  day: string
  bank: BankRow[]
  /** Ours that were booked on the day, or have a key of the bank's rows. */
  ours: OwnRow[]
  /** Marks of Troco's orders that the bank has on other days; see `strays`. */
  elsewhere: Set<string>
  /** Kinds of movements that the bank's report covers. No other kind can be missing there. */
  covers: Set<What>
  now: Date
}

export interface DayDifference {
  kind: 'day_missing_here' | 'day_missing_there' | 'day_different'
  what: What
  /** Of all differences of a connection, this one. */
  key: string
  bank: BankRow | null
  ours: OwnRow | null
}

export interface Comparison {
  matched: number
  /** Too new to be judged. */
  waiting: number
  differences: DayDifference[]
  /** Marks of the bank's rows whose own row was booked on another day, for the comparison of that day. */
  strays: string[]
}

/** How a kind of movement is found and named. `t` is its transfer, `s` its row. */
interface OwnSource {
  what: OwnRow['what']
  movement: string
  sign: 1 | -1
  from: Prisma.Sql
  /** Join of `t`. Default: the transfer of the movement. */
  booked?: Prisma.Sql
  /** Default: the amount of `t`, or of `s` if nothing is booked. */
  amount?: Prisma.Sql
  /** Condition that finds rows of these payments, those without a transfer included. */
  byKeys: (payments: string[], connectionId: string) => Prisma.Sql
  keys: Prisma.Sql
  rejected?: Prisma.Sql
  facts: Prisma.Sql
}

const WHATS: Record<StatementEntryKind, What> = {
  payment: 'payment',
  payment_fee: 'fee',
  payment_fee_reversal: 'fee_return',
  refund: 'refund',
  payout: 'payout',
  payout_reversal: 'reversal',
  payout_return: 'payout_return',
  payout_fee: 'fee',
  payout_fee_reversal: 'fee_return',
  transfer_received: 'transfer',
  transfer_sent: 'transfer',
  transfer_reversal: 'transfer',
  transfer_fee: 'fee',
  transfer_fee_reversal: 'fee_return',
}

/** Returns the rows of a statement. An entry without an id is named by its time and amount. */
function rowsOfStatement(day: string, entries: StatementEntry[]): BankRow[] {
  const feeCounts = new Map<string, number>()
  return entries.map(entry => {
    const { kind, amount, at, endToEndId, returnId, orderId, txid } = entry
    const what = WHATS[kind]
    const keys = keysOf(what, entry)
    return {
      what,
      amount,
      at,
      payment: endToEndId,
      keys: what.startsWith('fee') ? [feeKey(day, kind, keys[0] ?? '', feeCounts)] : keys,
      facts: withoutNulls({
        kind,
        end_to_end_id: endToEndId,
        return_id: returnId,
        order_id: orderId,
        txid,
      }),
    }
  })
}

function keysOf(what: What, entry: StatementEntry): string[] {
  const { amount, at, endToEndId, returnId, orderId } = entry
  const ids = {
    payment: [endToEndId],
    payout_return: [returnId],
    reversal: [endToEndId],
    // A payment may have many refunds, and is not their name.
    refund: [orderId, returnId, endToEndId && `dispute ${endToEndId}`],
    payout: [orderId, endToEndId],
    transfer: [orderId, endToEndId],
    fee: [endToEndId, orderId],
    fee_return: [endToEndId, orderId],
  }[what]
  const known = ids.flatMap(id => id || [])
  return known.length > 0 ? known : [`${at.toISOString()} ${amount}`]
}

/** A fee has no id of its own: the day, what it is about, and which of several about the same it is. */
function feeKey(day: string, kind: string, about: string, counts: Map<string, number>): string {
  const name = `${day} ${kind} ${about}`
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count === 1 ? name : `${name} #${count}`
}

function withoutNulls(facts: Record<string, string | null>): Record<string, string> {
  const known = Object.entries(facts).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(known) as Record<string, string>
}

/** Returns the rows of lists of a day, each payment once: pages may repeat it. */
function rowsOfLists(day: string, payments: ReceivedPayment[], payouts: SentPayout[]): BankRow[] {
  const rows = [
    ...payments.map(({ endToEndId, amount, paidAt: at, txid }) => ({
      what: isReturn(endToEndId) ? ('payout_return' as const) : ('payment' as const),
      keys: [endToEndId],
      amount,
      at,
      payment: isReturn(endToEndId) ? null : endToEndId,
      facts: withoutNulls({ end_to_end_id: endToEndId, txid }),
    })),
    ...payouts
      .filter(({ isFailed }) => !isFailed)
      .flatMap(({ id, endToEndId, amount, sentAt, returns }) => [
        {
          what: 'payout' as const,
          amount: 0 - amount,
          at: sentAt,
          keys: id === null ? [endToEndId] : [id.replaceAll('-', ''), endToEndId],
          payment: endToEndId,
          facts: withoutNulls({ end_to_end_id: endToEndId, order_id: id }),
        },
        ...returns.map(({ id: returnId, amount: part, returnedAt }) => ({
          what: 'payout_return' as const,
          keys: [returnId],
          amount: part,
          at: returnedAt,
          facts: { end_to_end_id: endToEndId, return_id: returnId },
        })),
      ]),
  ]
  const ofDay = rows.filter(({ at }) => dayOf(at) === day)
  return [...new Map(ofDay.map(row => [`${row.what} ${row.keys[0]}`, row])).values()]
}

/** Ids of payments that came back begin with D. */
function isReturn(endToEndId: string): boolean {
  return endToEndId.startsWith('D')
}

/** SQL of an id as banks have it, without hyphens. */
const bare = (column: string) => Prisma.raw(`replace(${column}::text, '-', '')`)

const byPayment = (keys: string[], connectionId: string) => Prisma.sql`
  b.end_to_end_id = ANY (${[...keys, ...keys.map(key => `${connectionId} ${key}`)]}::text[])`

const PAYOUTS: OwnSource = {
  what: 'payout',
  movement: 'withdrawal_sent',
  sign: -1,
  from: Prisma.sql`withdrawals s`,
  byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
  keys: Prisma.sql`ARRAY[${bare('s.id')}, s.end_to_end_id, s.other_end_to_end_id]`,
  rejected: Prisma.sql`s.status = 'rejected'`,
  facts: Prisma.sql`'withdrawal_id', s.id, 'account_id', s.account_id, 'status', s.status,
    'end_to_end_id', s.end_to_end_id`,
}

const OWN_SOURCES: OwnSource[] = [
  {
    what: 'payment',
    movement: 'charge_paid',
    sign: 1,
    // Without charges that were paid from `unmatched`: that payment is counted as a payment.
    from: Prisma.sql`(SELECT * FROM charges p WHERE NOT EXISTS (SELECT FROM unmatched_resolutions x
      WHERE x.to_account_id = p.account_id AND x.charge_id = p.id)) s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[s.end_to_end_id]`,
    facts: Prisma.sql`'transaction_id', s.id, 'account_id', s.account_id, 'txid', s.txid,
      'end_to_end_id', s.end_to_end_id`,
  },
  {
    what: 'payment',
    movement: 'unmatched_received',
    sign: 1,
    from: Prisma.sql`booked_payments b
      JOIN unmatched_payments s ON s.account_id = b.account_id AND s.id = b.subject_id`,
    byKeys: byPayment,
    keys: Prisma.sql`ARRAY[s.end_to_end_id]`,
    facts: Prisma.sql`'payment_id', s.id, 'reason', s.reason, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    what: 'payout_return',
    movement: 'payout_returned',
    sign: 1,
    from: Prisma.sql`booked_payments b
      JOIN payout_returns s ON s.account_id = b.account_id AND s.id = b.subject_id`,
    byKeys: byPayment,
    keys: Prisma.sql`ARRAY[s.return_id]`,
    facts: Prisma.sql`'withdrawal_id', s.withdrawal_id, 'account_id', s.account_id,
      'return_id', s.return_id`,
  },
  PAYOUTS,
  {
    what: 'refund',
    movement: 'refund_sent',
    sign: -1,
    from: Prisma.sql`refunds s
      JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id`,
    byKeys: keys => Prisma.sql`c.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[${bare('s.id')}, s.return_id, c.end_to_end_id]`,
    rejected: Prisma.sql`s.status = 'rejected'`,
    facts: Prisma.sql`'refund_id', s.id, 'transaction_id', c.id, 'account_id', s.account_id,
      'status', s.status, 'end_to_end_id', c.end_to_end_id`,
  },
  {
    what: 'refund',
    movement: 'unmatched_released',
    sign: -1,
    // One movement per payment, of the order that the bank did not refuse.
    from: Prisma.sql`(SELECT r.account_id, r.payment_id AS id, r.id AS order_id, r.return_id, r.amount,
        p.end_to_end_id
      FROM unmatched_returns r JOIN unmatched_payments p ON p.account_id = r.account_id AND p.id = r.payment_id
      WHERE r.status <> 'rejected') s`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[${bare('s.order_id')}, s.return_id, s.end_to_end_id]`,
    facts: Prisma.sql`'payment_id', s.id, 'return_id', s.return_id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    what: 'refund',
    movement: 'payment_returned',
    sign: -1,
    // Each as one movement, also if a part was owed or taken by a lost dispute.
    from: Prisma.sql`payment_returns s`,
    booked: Prisma.sql`JOIN payment_returns t ON t.account_id = s.account_id AND t.id = s.id`,
    byKeys: keys => Prisma.sql`s.end_to_end_id = ANY (${keys}::text[])`,
    keys: Prisma.sql`ARRAY[s.return_id, s.order_id]`,
    facts: Prisma.sql`'transaction_id', s.charge_id, 'payment_id', s.payment_id, 'account_id', s.account_id,
      'return_id', s.return_id, 'end_to_end_id', s.end_to_end_id`,
  },
  {
    what: 'refund',
    movement: 'dispute_lost',
    sign: -1,
    // Without what the bank has listed as returns.
    from: Prisma.sql`disputes s
      JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id
      JOIN LATERAL (SELECT LEAST(s.lost_amount - s.returned_amount,
          (SELECT sum(o.lost_amount - o.returned_amount) FROM disputes o
            WHERE o.account_id = s.account_id AND o.charge_id = s.charge_id AND o.id <= s.id)
          - (SELECT COALESCE(sum(k.disputed_amount), 0) FROM payment_returns k
            WHERE k.account_id = s.account_id AND k.charge_id = s.charge_id)) AS amount) l ON l.amount > 0`,
    amount: Prisma.sql`l.amount`,
    byKeys: keys => Prisma.sql`c.end_to_end_id = ANY (${keys}::text[]) AND s.status = 'lost'`,
    keys: Prisma.sql`ARRAY['dispute ' || c.end_to_end_id]`,
    facts: Prisma.sql`'dispute_id', s.id, 'transaction_id', c.id, 'account_id', s.account_id,
      'end_to_end_id', c.end_to_end_id`,
  },
]

/** Payments of one question. */
const BATCH_MAX = 5_000

/**
 * Lists what was booked through the connection on a day, and what has a payment or id of these rows of the
 * bank, booked or not. Only the rows that nothing else finds are looked for by the id of a withdrawal: its
 * index begins with the account.
 */
export async function listOwnRows(
  connectionId: string,
  day: string,
  bank: BankRow[],
): Promise<OwnRow[]> {
  const found = new Map<string, OwnRow>()
  const read = async (source: OwnSource, condition: Prisma.Sql) => {
    for (const { id, at, ...row } of await queryRows<JsonRow>(ownRowsSql(source, condition)))
      found.set(`${source.movement} ${id}`, { ...row, at: at === null ? null : new Date(at) })
  }
  const isOfDay = Prisma.sql`t.mode = 'live' AND t.connection_id = ${connectionId}::uuid
    AND t.created_at >= ${startOf(day)}::timestamptz AND t.created_at < ${endOf(day)}::timestamptz`
  const payments = [
    ...new Set(bank.flatMap(({ payment, keys }) => [...keys, payment ?? []].flat())),
  ]
  for (const source of OWN_SOURCES) {
    await read(source, isOfDay)
    for (let start = 0; start < payments.length; start += BATCH_MAX)
      await read(source, source.byKeys(payments.slice(start, start + BATCH_MAX), connectionId))
  }
  const known = new Set([...found.values()].flatMap(({ keys }) => keys))
  const unknown = bank
    .filter(({ what, keys }) => what === 'payout' && !keys.some(key => known.has(key)))
    .flatMap(({ keys }) => keys.filter(key => /^[0-9a-f]{32}$/.test(key)))
  if (unknown.length > 0)
    await read(
      PAYOUTS,
      Prisma.sql`(s.account_id, s.id) IN (
        SELECT a.id, k::uuid FROM accounts a CROSS JOIN unnest(${unknown}::text[]) k)`,
    )
  return [...found.values(), ...(await listFees(connectionId, day))]
}

type JsonRow = Omit<OwnRow, 'at'> & { id: string; at: string | null }

function ownRowsSql(
  { what, movement, sign, ...source }: OwnSource,
  condition: Prisma.Sql,
): Prisma.Sql {
  const { from, keys, rejected = Prisma.sql`false`, facts } = source
  const { amount = Prisma.sql`COALESCE(t.amount, s.amount)` } = source
  const {
    booked = Prisma.sql`LEFT JOIN ledger_transfers t
      ON t.account_id = s.account_id AND t.kind = ${movement} AND t.subject_id = s.id`,
  } = source
  return Prisma.sql`
    SELECT json_build_object('id', s.id, 'what', ${what}::text, 'keys', array_remove(${keys}, NULL),
      'amount', ${sign}::bigint * ${amount}, 'at', ${utcText('t.created_at')},
      'state', CASE WHEN t.created_at IS NOT NULL THEN 'booked' WHEN ${rejected} THEN 'rejected'
        ELSE 'pending' END,
      'facts', json_strip_nulls(json_build_object(${facts})))::text AS json
    FROM ${from} ${booked} WHERE ${condition}`
}

/** Fees are booked from the statement, with the time at the bank. */
async function listFees(connectionId: string, day: string): Promise<OwnRow[]> {
  const charged = { gte: startOf(day), lt: endOf(day) }
  const fees = await db().bankFee.findMany({ where: { connectionId, chargedAt: charged } })
  return fees.map(({ id, bankId, isReturn, amount, chargedAt: at }) => ({
    what: isReturn ? ('fee_return' as const) : ('fee' as const),
    keys: [bankId],
    at,
    amount: isReturn ? Number(amount) : 0 - Number(amount),
    state: 'booked' as const,
    facts: { fee_id: id },
  }))
}

/** Pause before a day that could not be read is read again. */
const RETRY_PAUSE_MS = 60_000
/** A day as the bank has it. */
export interface BankDay {
  source: 'lists' | 'statement'
  rows: BankRow[]
  covers: Set<What>
  /** Null by lists. */
  statement: Omit<Statement, 'entries'> | null
}

/** The day, or when to go on and with which statement. `flaw`: why it could not be read. */
type BankDayRead =
  | { state: 'ready'; bankDay: BankDay }
  | { state: 'later'; pauseMs: number; cursor: string | null; flaw: string | null }

/** Reads a day by the lists of the bank. `hold` renews the lease. */
async function readByLists(
  connection: ServedConnection,
  day: string,
  hold: () => Promise<boolean>,
): Promise<BankDayRead> {
  const { listPayments, listSentPayouts } = withConnectionJournal(connection)
  const payments = await readList(listPayments, day, hold)
  if ('failure' in payments) return readAgain(payments.failure, null)
  const payouts = await readList(listSentPayouts, day, hold)
  if ('failure' in payouts) return readAgain(payouts.failure, null)
  const covers = new Set<What>([
    ...(listPayments ? (['payment'] as const) : []),
    ...(listSentPayouts ? (['payout'] as const) : []),
  ])
  const rows = rowsOfLists(day, payments.items, payouts.items)
  return { state: 'ready', bankDay: { source: 'lists', rows, covers, statement: null } }
}

/** Reads a list from the beginning of the day on. Ends when the lease is lost. */
async function readList<Item>(
  list: List<Item> | undefined,
  day: string,
  hold: () => Promise<boolean>,
): Promise<{ items: Item[] } | { failure: ListFailure }> {
  const items: Item[] = []
  if (!list) return { items }
  const read = await readPages(list, { since: startOf(day), cursor: null }, async page => {
    items.push(...page.items)
    return page.nextCursor === null || hold()
  })
  if (read.end === 'read') return { items }
  return { failure: read.end === 'failed' ? read.failure : UNFINISHED[read.end] }
}

const UNFINISHED = {
  stopped: { outcome: 'unknown', reason: 'the lease was lost' },
  endless: { outcome: 'unknown', reason: 'the list never ends' },
} as const

function readAgain(failure: ListFailure | undefined, cursor: string | null): BankDayRead {
  const pauseMs = failure ? listPauseMs(failure, RETRY_PAUSE_MS) : RETRY_PAUSE_MS
  return { state: 'later', pauseMs, cursor, flaw: failure?.outcome ?? 'unknown' }
}

/** Pause before a statement that is not what was wanted is ordered again: Efí makes it anew. */
const UNREADABLE_PAUSE_MS = 30 * 60_000
/** Above the time in which a bank sends a file of many thousand records. */
const STATEMENT_TIMEOUT_MS = 60_000

/** Reads the statement of a day that is over, if the bank has statements, else its lists. */
export async function readBankDay(
  connection: ServedConnection,
  reading: DayReading,
  now: Date,
  hold: () => Promise<boolean>,
): Promise<BankDayRead> {
  return isOver(reading.day, now) && connection.gateway.readStatement
    ? readByStatement(connection, reading)
    : readByLists(connection, reading.day, hold)
}

async function readByStatement(
  connection: ServedConnection,
  { day, cursor }: DayReading,
): Promise<BankDayRead> {
  const { readStatement } = withConnectionJournal(connection, { timeoutMs: STATEMENT_TIMEOUT_MS })
  const result = await readStatement?.(day, cursor)
  if (result?.outcome !== 'ok') return readAgain(result, cursor)
  const { value } = result
  if (value.state === 'making')
    return { state: 'later', pauseMs: value.pauseMs, cursor: value.cursor, flaw: null }
  if (value.state === 'lost')
    return { state: 'later', pauseMs: RETRY_PAUSE_MS, cursor: null, flaw: 'statement_lost' }
  if (value.state === 'unreadable') {
    log().warn({ connectionId: connection.id, day, flaw: value.flaw }, 'statement cannot be read')
    const flaw = `statement_${value.flaw}`
    return { state: 'later', pauseMs: UNREADABLE_PAUSE_MS, cursor: null, flaw }
  }
  const { entries, ...statement } = value.statement
  const rows = rowsOfStatement(day, entries)
  return { state: 'ready', bankDay: { source: 'statement', rows, covers: ALL, statement } }
}

const ALL = new Set<What>(['payment', 'refund', 'payout', 'payout_return', 'fee', 'fee_return'])
