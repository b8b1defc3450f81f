import { db } from '#lib/db/client.ts'
import type { DayItem } from '#lib/differences/day-items.ts'
import { addDays } from '#lib/operator/reconciliation/calendar.ts'
import type { DayReading } from '#lib/operator/reconciliation/claim-day.ts'
import type { BankDay } from '#lib/operator/reconciliation/read-lists.ts'
import type { Difference } from '#lib/operator/reconciliation/schema.ts'

/** Names a difference by what both sides have. */
export function describeDifference(
  day: string,
  { kind, what, key, bank, ours }: Difference,
): DayItem {
  const there = bank && { amount: bank.amount, at: bank.at.toISOString(), ...bank.facts }
  const here = ours && {
    ...{ amount: ours.amount, at: ours.at?.toISOString() ?? null, state: ours.state },
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
  const dayBefore = addDays(day, -1)
  const where = { connectionId_day: { connectionId, day: new Date(dayBefore) } }
  const last = isFirst ? null : await db().reconciledDay.findUnique({ where })
  if (opening !== null && last && last.closing !== null && Number(last.closing) !== opening)
    add('opening', { opening }, { closing: Number(last.closing), day: dayBefore })
  return items
}
