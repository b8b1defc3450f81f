import type { PayoutReturn, ReceivedPayment } from '#lib/banks/gateway.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { askAboutPayments } from '#lib/charges/read-payments.ts'
import { bookPage } from '#lib/charges/receive.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { log } from '#lib/core/log.ts'
import { transaction } from '#lib/db/client.ts'
import { listOpenOfDay, reportDay } from '#lib/differences/day-items.ts'
import { payFees } from '#lib/differences/differences.ts'
import { readBooks } from '#lib/operator/reconciliation/balance.ts'
import {
  claimDay,
  type DayReading,
  endDay,
  endOf,
  findStrays,
  holdDay,
  isOver,
  lockDay,
  nextReadingAt,
  postponeDay,
} from '#lib/operator/reconciliation/claim-day.ts'
import {
  compareDay,
  describeDifference,
  judgeBalances,
} from '#lib/operator/reconciliation/compare.ts'
import {
  type BankDay,
  type BankRow,
  type Comparison,
  type DayDifference,
  listOwnRows,
  readBankDay,
} from '#lib/operator/reconciliation/rows.ts'
import { isOrderId } from '#lib/orders/queue.ts'
import { creditReturn } from '#lib/withdrawals/outcome.ts'

/** Pause after a failure of this process. */
const RETRY_PAUSE_MS = 60_000

/** Work on days of banks, which is not awaited. */
interface Reconciler {
  /** Starts what is due. Returns how many days that were. */
  run: (signal?: AbortSignal) => Promise<number>
  /** Awaits the work in progress. */
  idle: () => Promise<void>
}

/**
 * Creates a worker that holds the days of banks against the books: today and a day that is not closed every
 * 10 minutes by lists, and each night the three days before, by their statement if the bank has one. Each
 * connection has one day in work, the earliest first. A bank that hangs holds up its own days only.
 */
function createReconciler(booking: Booking, now = () => new Date()): Reconciler {
  const days = new Pool()
  return {
    async run(signal) {
      let count = 0
      for (const connection of await listServed()) {
        if (signal?.aborted) break
        const { id, gateway } = connection
        const hasDays = !gateway.local && (gateway.listPayments || gateway.readStatement)
        if (!hasDays || days.free(id) === 0) continue
        const reading = await claimDay(id, now())
        if (!reading) continue
        count += 1
        const work = reconcile(connection, reading, booking, now)
        days.start(work, error => postponeFailed(reading, error, now), id)
      }
      return count
    },
    idle: () => days.idle(),
  }
}

/** Creates the daily reconciliation with the operations that book what it finds. */
export function createDayReconciler(now?: () => Date): Reconciler {
  const bookReturned: Booking['bookReturned'] = async (connectionId, payments) => {
    const connection = (await listServed()).find(({ id }) => id === connectionId)
    const ids = [...new Set(payments.map(({ endToEndId }) => endToEndId))]
    // The payment itself names the reason, by which a return fits a dispute.
    if (connection) await askAboutPayments(connection, ids, 'returned')
    await bookReturns(connectionId, payments)
  }
  return createReconciler({ bookPayments: bookPage, bookReturn: creditReturn, bookReturned }, now)
}

async function reconcile(
  connection: ServedConnection,
  reading: DayReading,
  booking: Booking,
  now: () => Date,
): Promise<void> {
  const hold = () => holdDay(reading, now())
  const read = await readBankDay(connection, reading, now(), hold)
  if (read.state === 'later') await postponeDay(reading, laterBy(read.pauseMs, now), read)
  else if (await hold()) await closeDay(reading, read.bankDay, booking, now())
}

async function postponeFailed(reading: DayReading, err: unknown, now: () => Date): Promise<void> {
  const { connectionId, day } = reading
  log().error({ err, connectionId, day }, 'reconciling a day failed')
  const dueAt = laterBy(RETRY_PAUSE_MS, now)
  await postponeDay(reading, dueAt, { flaw: 'failed' }).catch(() => {})
}

const laterBy = (ms: number, now: () => Date) => new Date(now().getTime() + ms)

/** Time before a connection was added from which its bank's movements are compared. */
const BEFORE_CREATION_MS = 10 * 60_000

/**
 * Compares a day as the bank has it with the books, after booking its fees and what else can be booked, and
 * reports what is left. Called again for the same day, it changes nothing. After a crash at any point, the
 * next reading of the day does the rest. Returns false if another process has claimed the day.
 */
async function closeDay(
  reading: DayReading,
  bankDay: BankDay,
  booking: Booking,
  now: Date,
): Promise<boolean> {
  const { connectionId, day } = reading
  const { source, statement } = bankDay
  const since = reading.since.getTime() - BEFORE_CREATION_MS
  const rows = bankDay.rows.filter(({ at }) => at.getTime() >= since)
  const before = bankDay.rows.filter(({ at }) => at.getTime() < since)
  const opening = statement?.opening == null ? null : statement.opening + sumOf(before)
  const elsewhere = await findStrays(connectionId, day)
  const compare = async () => {
    const ours = await listOwnRows(connectionId, day, rows)
    return compareDay({ day, bank: rows, ours, elsewhere, covers: bankDay.covers, now })
  }
  const fees = await bookFees(connectionId, rows)
  const first = await compare()
  const hasBooked = await bookMissing(connectionId, first.differences, booking)
  const comparison = hasBooked ? await compare() : first
  const balances = await judgeBalances(reading, bankDay, before.length > 0)
  const items = [...comparison.differences.map(each => describeDifference(day, each)), ...balances]
  const booked = fees + first.differences.length - comparison.differences.length
  const books = isOver(day, now) ? await readBooks(connectionId, endOf(day)) : null
  return transaction(async tx => {
    if (!(await lockDay(tx, reading))) return false
    await reportDay(tx, reading, items)
    const open = await listOpenOfDay(reading, tx)
    return endDay(tx, reading, {
      source,
      opening,
      closing: statement?.closing ?? null,
      books,
      flaw: null,
      readAt: now,
      counts: countOf(comparison, booked),
      strays: comparison.strays,
      dueAt: nextReadingAt(day, now, open.length > 0),
    })
  })
}

function countOf({ matched, waiting, strays }: Comparison, booked: number) {
  return { matched, waiting, booked, on_other_days: strays.length }
}

function sumOf(rows: { amount: number }[]): number {
  return rows.reduce((sum, { amount }) => sum + amount, 0)
}

/** Operations that book what the bank has and the books lack. Idempotent. Passed in by the worker. */
interface Booking {
  bookPayments: (connectionId: string, payments: ReceivedPayment[]) => Promise<unknown>
  /** `payment`: end-to-end id of the payout. */
  bookReturn: (connectionId: string, payment: string, part: PayoutReturn) => Promise<unknown>
  /** Of payments that were received before: what has gone back. */
  bookReturned: (
    connectionId: string,
    payments: Required<Pick<ReceivedPayment, 'endToEndId' | 'returns'>>[],
  ) => Promise<unknown>
}

/** Books the fees of a day to the operator. Returns how many were not booked before. */
function bookFees(connectionId: string, rows: BankRow[]): Promise<number> {
  const fees = rows.filter(({ what, amount }) => what.startsWith('fee') && amount !== 0)
  return payFees(
    fees.map(({ what, keys: [bankId = ''], amount, at }) => ({
      connectionId,
      mode: 'live' as const,
      bankId,
      amount: Math.abs(amount),
      at,
      isReturn: what === 'fee_return',
    })),
  )
}

/**
 * Books payments and returns that a notice or list has missed, as if they were listed now. Returns whether
 * there were any.
 */
async function bookMissing(
  connectionId: string,
  differences: DayDifference[],
  { bookPayments, bookReturn, bookReturned }: Booking,
): Promise<boolean> {
  const missing = differences.flatMap(({ kind, bank, ours }) =>
    kind === 'day_missing_here' && bank && !ours ? bank : [],
  )
  const returns = missing.filter(({ what, payment }) => what === 'payout_return' && payment)
  const payments = missing.filter(
    ({ what, payment }) =>
      (what === 'payment' && payment) || (what === 'payout_return' && !payment),
  )
  if (payments.length > 0)
    await attempt(connectionId, () => bookPayments(connectionId, payments.map(toPayment)))
  // An id like those of Troco is of an order that it does not know: only people can say whose.
  const returned = missing.filter(
    ({ what, payment, facts }) =>
      what === 'refund' && payment && !isOrderId(String(facts.order_id ?? '')),
  )
  if (returned.length > 0)
    await attempt(connectionId, () => bookReturned(connectionId, returned.map(toReturned)))
  for (const { payment, keys, amount, at } of returns)
    await attempt(connectionId, () =>
      bookReturn(connectionId, payment ?? '', { id: keys[0] ?? '', amount, returnedAt: at }),
    )
  return payments.length + returned.length + returns.length > 0
}

/** A statement names no reason of a return. */
function toReturned({ payment, keys, amount, at: returnedAt, facts }: BankRow) {
  const [orderId, returnId] = [facts.order_id, facts.return_id].map(id => id?.toString() ?? null)
  const id = returnId ?? orderId ?? keys[0] ?? ''
  const each = { id, orderId: orderId ?? null, amount: 0 - amount, nature: null, returnedAt }
  return { endToEndId: payment ?? '', returns: [each] }
}

function toPayment({ keys, amount, at, facts }: BankRow): ReceivedPayment {
  const txid = typeof facts.txid === 'string' ? facts.txid : null
  return { endToEndId: keys[0] ?? '', amount, paidAt: at, txid }
}

/** What cannot be booked is a difference. */
async function attempt(connectionId: string, work: () => Promise<unknown>): Promise<void> {
  await work().catch(err => log().error({ err, connectionId }, 'booking of a bank day failed'))
}
