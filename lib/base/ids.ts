import { v7 } from 'uuid'

/**
 * Ids are made before anything is written, so that a call that may have failed can be asked again.
 * They sort by the time of their making; `at` is for the demo world, which has a past.
 */
export function newId(at?: Date): string {
  return at ? v7({ msecs: at.getTime() }) : v7()
}

/**
 * Maximum difference between the clock of a process, which makes an id, and that of the database,
 * which writes `created_at`: an hour, as of a machine on the wrong side of daylight saving time.
 */
export const CLOCK_SKEW_MS = 3_600_000

/** Lower bound of the ids of rows created at this time or later. */
export function earliestIdAt(ms: number): string {
  return firstIdAt(ms - CLOCK_SKEW_MS)
}

/** Upper bound of the ids of rows created before this time. */
export function latestIdAt(ms: number): string {
  return firstIdAt(ms + CLOCK_SKEW_MS)
}

/** Where the ids of a time begin. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** An id as a bank takes it: without hyphens. */
export function bareId(id: string): string {
  return id.replaceAll('-', '')
}
