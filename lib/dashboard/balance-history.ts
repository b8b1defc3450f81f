import { invalidInput } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { addDays, dayOf, listDays, midnight } from '#lib/dashboard/period.ts'
import type { BalanceDay, BalanceQuery } from '#lib/dashboard/statement-wire.ts'
import { totalBetween } from '#lib/ledger/daily-totals.ts'

const DAYS = 30
/** A year: the sums of a million entries take about 0.3 s. */
const DAYS_MAX = 366

/** Returns the days of the period that have begun, newest first. */
export async function readBalanceHistory(
  { accountId, mode, timeZone }: { accountId: string; mode: Mode; timeZone: string },
  query: BalanceQuery,
): Promise<BalanceDay[]> {
  const tomorrow = addDays(dayOf(new Date(), timeZone), 1)
  const to = query.to && query.to < tomorrow ? query.to : tomorrow
  const from = query.from ?? addDays(to, -DAYS)
  if (from >= to) return []
  if (from < addDays(to, -DAYS_MAX)) {
    throw invalidInput('from', `must be at most ${DAYS_MAX} days before to`)
  }
  const days = listDays(from, to)
  const moments = days.map(day => midnight(day, timeZone))
  const totals = await totalBetween(accountId, mode, moments)
  const history = totals.map((total, nth) => ({
    date: days[nth] ?? '',
    opening_balance: total.opening,
    credited: total.in,
    debited: total.out,
    closing_balance: total.closing,
  }))
  return history.reverse()
}
