import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import type { DayItem } from '#lib/differences/day-items.ts'
import { type DayReading, shiftDay } from '#lib/operator/reconciliation/claim-day.ts'
import type {
  BankDay,
  BankRow,
  Comparison,
  DayDifference,
  DayToCompare,
  OwnRow,
  What,
} from '#lib/operator/reconciliation/rows.ts'

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
export function describeDifference(
  day: string,
  { kind, what, key, bank, ours }: DayDifference,
): DayItem {
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
export async function judgeBalances(
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
