import { v7 } from 'uuid'

/**
 * Returns a UUIDv7, which sorts by creation time. Generated before the first write, so that a call
 * with an unknown outcome can be retried with the same id.
 */
export function newId(at?: Date): string {
  return at ? v7({ msecs: at.getTime() }) : v7()
}

/** Clock of process (ids) against database (`created_at`): one hour for wrong daylight saving. */
export const CLOCK_SKEW_MS = 3_600_000

/** Returns the lower bound of the ids of rows created at this time or later. */
export function idLowerBoundAt(ms: number): string {
  return smallestIdAt(ms - CLOCK_SKEW_MS)
}

/** Returns the upper bound of the ids of rows created before this time. */
export function idUpperBoundAt(ms: number): string {
  return smallestIdAt(ms + CLOCK_SKEW_MS)
}

export function smallestIdAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Removes the hyphens, which banks do not accept in ids. */
export function removeHyphens(id: string): string {
  return id.replaceAll('-', '')
}
