import { dateFormat } from '#lib/core/locale.ts'

/** Days are texts such as 2026-11-30; a calendar needs no time zone. */
export type Day = string

const DAY_FORMAT = {
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
  timeZone: 'UTC',
} as const satisfies Intl.DateTimeFormatOptions

/** Formats a day in digits, as the locale orders them: 30/11/2026. */
export function formatDay(day: Day, locale: string): string {
  return dateFormat(locale, DAY_FORMAT).format(dateOf(day))
}

export function dateOf(day: Day): Date {
  return new Date(`${day}T00:00:00Z`)
}

/** Returns the day some days later, or earlier. */
export function addDays(day: Day, count: number): Day {
  const date = dateOf(day)
  date.setUTCDate(date.getUTCDate() + count)
  return date.toISOString().slice(0, 10)
}

/** Returns the same day of another month, or the last one of a shorter month. */
export function addMonths(day: Day, count: number): Day {
  const date = dateOf(`${day.slice(0, 7)}-01`)
  date.setUTCMonth(date.getUTCMonth() + count)
  const month = date.toISOString().slice(0, 7)
  const last = addDays(firstOfNextMonth(month), -1)
  const same = `${month}-${day.slice(8)}`
  return same < last ? same : last
}

function firstOfNextMonth(month: string): Day {
  const date = dateOf(`${month}-01`)
  date.setUTCMonth(date.getUTCMonth() + 1)
  return date.toISOString().slice(0, 10)
}

/** Reads a day in the order of the locale, with or without marks, or as 2026-11-30. Null: it is none. */
export function parseDay(text: string, locale: string): Day | null {
  const order = dateFormat(locale, DAY_FORMAT)
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'day' || type === 'month' || type === 'year' ? type : []))
  const numbers = splitDigits(text.trim(), order)
  if (numbers.length !== order.length || /[^\d\s./-]/.test(text)) return null
  const isIso = numbers[0]?.length === 4
  const names = isIso ? ['year', 'month', 'day'] : order
  const part = (name: string) => numbers[names.indexOf(name)] ?? ''
  if (part('year').length !== 4) return null
  const day = `${part('year')}-${part('month').padStart(2, '0')}-${part('day').padStart(2, '0')}`
  const date = dateOf(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) ? day : null
}

/** Eight digits are a day without marks, which keyboards for numbers may not have. */
function splitDigits(text: string, order: string[]): string[] {
  if (!/^\d{8}$/.test(text)) return text.match(/\d+/g) ?? []
  let at = 0
  return order.map(name => {
    const length = name === 'year' ? 4 : 2
    at += length
    return text.slice(at - length, at)
  })
}
