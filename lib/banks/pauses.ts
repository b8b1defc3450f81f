import type { GatewayResult } from '#lib/banks/gateway.ts'
import { nowPlusMs } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'

/** Returns the pause after an attempt: `firstMs`, doubled with each further one, at most `maxMs`. */
export function doublingPauseMs(attempts: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, attempts - 1))
}

/** Pause while a bank blocks calls: the operator must act first. */
export const BLOCKED_PAUSE_MS = 5 * 60_000
/** A bank that wants a longer pause is asked sooner: its operator may have ended the problem. */
const RETRY_AFTER_MAX_MS = 60 * 60_000

/** Returns the time for which a bank must not be called again after this result. */
export function requestedPauseMs(result: GatewayResult<unknown>): number {
  if (result.outcome !== 'retryable' && result.outcome !== 'blocked') return 0
  const leastMs = result.outcome === 'blocked' ? BLOCKED_PAUSE_MS : 0
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(leastMs, result.retryAfterMs ?? 0))
}

/** Pause after a list that was not read. One that a bank refuses needs the operator, as one that it blocks does. */
export function listPauseMs(result: GatewayResult<unknown>, leastMs: number): number {
  if (result.outcome === 'rejected') return BLOCKED_PAUSE_MS
  return Math.max(leastMs, requestedPauseMs(result))
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** Times after an end that the bank has not confirmed at which it is asked about it. */
const AGES_MS = [
  MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  ...Array.from({ length: 7 }, (_, day) => (day + 1) * DAY_MS),
]

/** Null after the last time. Not before `pauseMs`, which the bank may ask for. */
export function nextAskAt(endedAt: Prisma.Sql, pauseMs = 0): Prisma.Sql {
  const askAt = Prisma.sql`${endedAt} + make_interval(secs => after_ms / 1000)`
  return Prisma.sql`(
    SELECT min(GREATEST(${askAt}, ${nowPlusMs(pauseMs)}))
    FROM unnest(${AGES_MS}::float8[]) after_ms WHERE ${askAt} > now())`
}
