import { addDays } from '#lib/core/day.ts'
import { dateFormat } from '#lib/core/locale.ts'
import { MONTH, PERIODS, type SearchParams } from '#lib/dashboard/schema.ts'

type Period = (typeof PERIODS)[number]
const DAYS: Partial<Record<Period, number>> = { today: 1, '7d': 7, '30d': 30, '90d': 90 }
/** Dates from 2000 on: PostgreSQL lacks time zone data for very early years. */
const DATE = /^2\d{3}-\d\d-\d\d$/

/** Time from the first midnight to the midnight after the last day, in the merchant's time zone. */
export interface DaySpan {
  from?: Date
  to?: Date
}

export function readSpan(params: SearchParams, timeZone: string, now = new Date()): DaySpan {
  const [first, last] = readDays(params, dayInZone(now, timeZone))
  return {
    from: first ? midnight(first, timeZone) : undefined,
    to: last ? midnight(addDays(last, 1), timeZone) : undefined,
  }
}

/** First and last day of the chosen period; null where it is open. */
function readDays(params: SearchParams, today: string): [string | null, string | null] {
  const period = PERIODS.find(known => known === params.period)
  if (period === 'custom') return [readDay(params.from), readDay(params.to)]
  const days = period && DAYS[period]
  if (days) return [addDays(today, 1 - days), today]
  const month = monthOf(params.period, today)
  return month ? [`${month}-01`, addDays(`${addMonths(month, 1)}-01`, -1)] : [null, null]
}

function monthOf(period: SearchParams[string], today: string): string | null {
  if (period === 'this_month') return today.slice(0, 7)
  if (period === 'last_month') return addMonths(today.slice(0, 7), -1)
  return typeof period === 'string' && MONTH.test(period) ? period : null
}

/** Maximum days: beyond a year, bars can no longer be distinguished. */
const CHART_DAYS_MAX = 366
const CHART_DAYS = 30

export function chartDays(params: SearchParams, today: string): string[] {
  const [first, last] = readDays(params, today)
  const end = last && last < today ? last : today
  if (!first || first > end) return listDays(addDays(end, 1 - CHART_DAYS), end)
  const earliest = addDays(end, 1 - CHART_DAYS_MAX)
  return listDays([first, earliest].toSorted().at(-1) ?? end, end)
}

export function listDays(first: string, last: string): string[] {
  const days = [first]
  for (let day = first; day < last; ) {
    day = addDays(day, 1)
    days.push(day)
  }
  return days
}

export function dayInZone(moment: Date, timeZone: string): string {
  return dateFormat('en-CA', { timeZone }).format(moment)
}

/** Returns the month, such as `2026-11`, so many months later. */
function addMonths(month: string, months: number): string {
  const date = new Date(`${month}-01T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + months)
  return date.toISOString().slice(0, 7)
}

/** Midnight of the day, or its first moment if a clock change skips midnight. */
export function midnight(day: string, timeZone: string): Date {
  const utc = Date.parse(`${day}T00:00:00Z`)
  // Near a change of the offset, the second guess uses the offset in effect at the first.
  const firstGuess = utc - offsetMs(new Date(utc), timeZone)
  const secondGuess = utc - offsetMs(new Date(firstGuess), timeZone)
  const first = new Date(Math.min(firstGuess, secondGuess))
  return dayInZone(first, timeZone) === day ? first : new Date(Math.max(firstGuess, secondGuess))
}

function readDay(value: SearchParams[string]): string | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value) ? value : null
}

function offsetMs(moment: Date, timeZone: string): number {
  const parts = dateFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(moment)
  const part = (type: string) => parts.find(item => item.type === type)?.value ?? '0'
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}Z`
  return Date.parse(local) - Math.floor(moment.getTime() / 1_000) * 1_000
}
