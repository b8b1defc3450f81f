import { transaction } from '#lib/db/client.ts'
import { listOpenOfDay, reportDay } from '#lib/differences/day-items.ts'
import { readBooks } from '#lib/operator/reconciliation/balance.ts'
import { type Booking, bookFees, bookMissing } from '#lib/operator/reconciliation/book-missing.ts'
import type { DayReading } from '#lib/operator/reconciliation/claim-day.ts'
import {
  endDay,
  endOf,
  findStrays,
  isOver,
  lockDay,
  nextReadingAt,
} from '#lib/operator/reconciliation/claim-day.ts'
import {
  compareDay,
  describeDifference,
  judgeBalances,
} from '#lib/operator/reconciliation/compare.ts'
import type { BankDay } from '#lib/operator/reconciliation/rows.ts'
import { listOwnRows } from '#lib/operator/reconciliation/rows.ts'
import type { Comparison } from '#lib/operator/reconciliation/schema.ts'

/** Time before a connection was added from which its bank's movements are compared. */
const BEFORE_CREATION_MS = 10 * 60_000

/**
 * Compares a day as the bank has it with the books, after booking its fees and what else can be booked, and
 * reports what is left. Called again for the same day, it changes nothing. After a crash at any point, the
 * next reading of the day does the rest. Returns false if another process has claimed the day.
 */
export async function closeDay(
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
