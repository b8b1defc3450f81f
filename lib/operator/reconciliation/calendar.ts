/** In the time zone of `HOME_TIME_ZONE`. */
const MIDNIGHT = 'T00:00:00-03:00'
const HOUR_MS = 3_600_000
/** Hour of the night at which a day is closed: lists and statements have it by then. */
const CLOSING_HOUR = 3
const OPEN_EVERY_MS = 10 * 60_000
/** Nights after a day in which it is read, and those in which it is read while a difference is open. */
const NIGHTS = 3
const NIGHTS_MAX = 30

/** Returns the day this many days later, or earlier if negative. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * 24 * HOUR_MS).toISOString().slice(0, 10)
}

export function startOf(day: string): Date {
  return new Date(`${day}${MIDNIGHT}`)
}

export function endOf(day: string): Date {
  return startOf(addDays(day, 1))
}

/** Whether the text is a date of the calendar, such as `2026-11-20`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  return !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text
}

/** Returns whether the day is over for the bank, too: from then on, it is read by its statement. */
export function isOver(day: string, now: Date): boolean {
  return now.getTime() >= nightOf(day, 1)
}

/** Returns when a day that was read is read again; null: no more. */
export function nextReadingAt(day: string, now: Date, hasOpenItems: boolean): Date | null {
  if (!isOver(day, now)) return new Date(Math.min(now.getTime() + OPEN_EVERY_MS, nightOf(day, 1)))
  const nightsMax = hasOpenItems ? NIGHTS_MAX : NIGHTS
  for (let night = 2; night <= nightsMax; night++)
    if (nightOf(day, night) > now.getTime()) return new Date(nightOf(day, night))
  return null
}

function nightOf(day: string, count: number): number {
  return startOf(addDays(day, count)).getTime() + CLOSING_HOUR * HOUR_MS
}
