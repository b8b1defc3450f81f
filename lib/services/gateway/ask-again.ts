import { nowPlusMs } from '#lib/base/db/claim.ts'
import { Prisma } from '#lib/base/db/client.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** Times after an end that the bank has not confirmed at which it is asked about it. */
const AGES_MS = [
  ...[MINUTE_MS, 10 * MINUTE_MS, HOUR_MS],
  ...Array.from({ length: 7 }, (_, day) => (day + 1) * DAY_MS),
]

/** Null after the last time. Not before `pauseMs`, which the bank may ask for. */
export function nextAskAt(endedAt: Prisma.Sql, pauseMs = 0): Prisma.Sql {
  const askAt = Prisma.sql`${endedAt} + make_interval(secs => after_ms / 1000)`
  return Prisma.sql`(
    SELECT min(GREATEST(${askAt}, ${nowPlusMs(pauseMs)}))
    FROM unnest(${AGES_MS}::float8[]) after_ms WHERE ${askAt} > now())`
}
