import type { PayoutReturn, ReceivedPayment } from '#lib/banks/gateway.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { askAboutPayments } from '#lib/charges/read-payments.ts'
import { bookPage } from '#lib/charges/receive.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { dayOf } from '#lib/core/locale.ts'
import { log } from '#lib/core/log.ts'
import { db, transaction } from '#lib/db/client.ts'
import { type DayItem, listOpenOfDay, reportDay } from '#lib/differences/day-items.ts'
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
  shiftDay,
} from '#lib/operator/reconciliation/claim-day.ts'
import {
  type BankDay,
  type BankRow,
  type Comparison,
  type DayDifference,
  type DayToCompare,
  listOwnRows,
  type OwnRow,
  readBankDay,
  type What,
} from '#lib/operator/reconciliation/rows.ts'
import { isOrderId } from '#lib/orders/order.ts'
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

/** Age up to which one side may not know of the other: lists come late, and orders end later. */
const WAIT_MS = 3_600_000

/**
 * Compares a day of the bank with the books. A movement is the same if an id agrees, on whatever day it
 * was booked: clocks differ, and an order may end here after midnight. What was booked on the day must be
 * on the bank's day, or on that of another day, and not on both.
 */
export function compareDay(day: DayToCompare): Comparison {
  const course = new Course(day)
  for (const row of day.bank)
    if (row.what === 'reversal') course.judgeReversal(row)
    else course.judgeBankRow(row)
  for (const own of day.ours) course.judgeOwnRow(own)
  return course.result
}

class Course {
  readonly result: Comparison = { matched: 0, waiting: 0, differences: [], strays: [] }
  readonly #day: DayToCompare
  readonly #ours = new Map<string, OwnRow[]>()
  /** Payments of the bank's orders of the day, and of those that it undid on the day. */
  readonly #moved = new Set<string>()
  readonly #undone: Set<string>
  readonly #used = new Map<OwnRow, BankRow>()
  readonly #keys = new Set<string>()

  constructor(day: DayToCompare) {
    this.#day = day
    for (const own of day.ours)
      for (const key of new Set(own.keys)) {
        const name = `${own.what} ${key}`
        this.#ours.set(name, [...(this.#ours.get(name) ?? []), own])
      }
    const paymentsOf = (wanted: What[]) =>
      day.bank.filter(({ what }) => wanted.includes(what)).flatMap(({ payment }) => payment ?? [])
    this.#moved = new Set(paymentsOf(['payout', 'refund']))
    this.#undone = new Set(paymentsOf(['reversal']))
  }

  judgeBankRow(row: BankRow): void {
    const own = this.#findOwn(row)
    if (own) this.#used.set(own, row)
    if (own?.state !== 'booked' && this.#isUndone(row)) this.result.matched += 1
    else if (!own) this.#report('day_missing_here', row, null)
    else if (own.amount !== row.amount || own.state === 'rejected')
      this.#differ('day_different', row, own)
    else if (own.state === 'pending') this.#report('day_different', row, own)
    else {
      this.result.matched += 1
      if (own.at && dayOf(own.at) !== this.#day.day) this.result.strays.push(markOf(own))
    }
  }

  /**
   * A reversal is of a payout that was done and came back here under its own id, of an order that moved nothing here, or
   * of one that is unknown here like it.
   */
  judgeReversal(row: BankRow): void {
    const ofReturn: BankRow = { ...row, what: 'payout_return' }
    if (this.#findOwn(ofReturn)) this.judgeBankRow(ofReturn)
    else this.#judgeUndone(row)
  }

  #judgeUndone(row: BankRow): void {
    const orders = (['payout', 'refund'] as const).flatMap(what =>
      row.keys.flatMap(key => this.#ours.get(`${what} ${key}`) ?? []),
    )
    const own = orders.find(({ amount }) => amount === 0 - row.amount)
    const isOfDay = row.payment ? this.#moved.has(row.payment) : false
    if (own?.state === 'booked') this.#differ('day_different', row, own)
    else if (!own && !isOfDay) this.#report('day_missing_here', row, null)
    else {
      this.result.matched += 1
      if (!isOfDay) this.result.strays.push(`reversal ${row.payment}`)
    }
  }

  judgeOwnRow(own: OwnRow): void {
    const { day, elsewhere, covers } = this.#day
    if (own.state !== 'booked' || own.at === null || dayOf(own.at) !== day) return
    const [row, isElsewhere] = [this.#used.get(own), elsewhere.has(markOf(own))]
    // The bank has it on two days.
    if (row && isElsewhere) this.#differ('day_missing_here', row, own)
    else if (!row && !isElsewhere && covers.has(own.what))
      this.#report('day_missing_there', null, own)
  }

  #findOwn({ what, keys, amount }: BankRow): OwnRow | undefined {
    const found = keys
      .flatMap(key => this.#ours.get(`${what} ${key}`) ?? [])
      .filter(own => !this.#used.has(own))
    return found.find(own => own.amount === amount) ?? found[0]
  }

  #isUndone({ what, payment }: BankRow): boolean {
    if (!payment || (what !== 'payout' && what !== 'refund')) return false
    return this.#undone.has(payment) || this.#day.elsewhere.has(`reversal ${payment}`)
  }

  /** Adds a difference unless it may end by itself. */
  #report(kind: DayDifference['kind'], bank: BankRow | null, ours: OwnRow | null): void {
    const at = bank?.at ?? ours?.at
    if (at && this.#day.now.getTime() - at.getTime() < WAIT_MS) this.result.waiting += 1
    else this.#differ(kind, bank, ours)
  }

  #differ(kind: DayDifference['kind'], bank: BankRow | null, ours: OwnRow | null): void {
    const { what, keys } = (bank ?? ours) as BankRow | OwnRow
    const name = `${this.#day.day} ${what} ${keys[0]}`
    let key = name
    for (let count = 2; this.#keys.has(`${kind} ${key}`); count++) key = `${name} #${count}`
    this.#keys.add(`${kind} ${key}`)
    this.result.differences.push({ kind, what, key, bank, ours })
  }
}

function markOf({ what, keys }: OwnRow): string {
  return `${what} ${keys[0]}`
}

/** Names a difference by what both sides have. */
function describeDifference(day: string, { kind, what, key, bank, ours }: DayDifference): DayItem {
  const there = bank && { amount: bank.amount, at: bank.at.toISOString(), ...bank.facts }
  const here = ours && {
    amount: ours.amount,
    at: ours.at?.toISOString() ?? null,
    state: ours.state,
    ...ours.facts,
  }
  return { kind, key, facts: { what, day, bank: there, ours: here } }
}

/** A statement must be whole, make its closing balance, and begin with that of the day before. */
async function judgeBalances(
  { connectionId, day }: DayReading,
  { statement }: BankDay,
  isFirst: boolean,
): Promise<DayItem[]> {
  if (!statement) return []
  const { opening, closing, difference, missing, unread } = statement
  const items: DayItem[] = []
  const add = (what: string, bank: object, ours: object | null) =>
    items.push({ kind: 'day_balance', key: `${day} ${what}`, facts: { what, day, bank, ours } })
  if (difference !== 0 || missing !== 0 || unread.length > 0)
    add('statement', { opening, closing, difference, missing, unread: unread.length }, null)
  const dayBefore = shiftDay(day, -1)
  const where = { connectionId_day: { connectionId, day: new Date(dayBefore) } }
  const last = isFirst ? null : await db().reconciledDay.findUnique({ where })
  if (opening !== null && last && last.closing !== null && Number(last.closing) !== opening)
    add('opening', { opening }, { closing: Number(last.closing), day: dayBefore })
  return items
}
