import { log } from '#lib/core/log.ts'
import { db } from '#lib/db/client.ts'

/** Beyond it, the clock of the worker that began a reading was wrong: a smaller one is in each overlap. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000

/**
 * Makes readings due whose last one was begun by a clock ahead of this one: the list did not reach the
 * time that they claim. What was listed is read again, over the overlap.
 */
export async function correctFutureReadings(
  connectionIds: string[],
  at: Date,
  overlapMs: number,
): Promise<void> {
  const corrected = await db().$executeRaw`
    UPDATE payment_readings SET position = NULL, since = NULL, until = NULL, due_at = ${at}::timestamptz,
      paused_until = NULL,
      read_until = ${at}::timestamptz - make_interval(secs => ${overlapMs}::float8 / 1000)
    WHERE connection_id = ANY (${connectionIds}::uuid[]) AND lease IS NULL
      AND GREATEST(read_until, until) > ${at}::timestamptz
        + make_interval(secs => ${CLOCK_DIFFERENCE_MAX_MS}::float8 / 1000)`
  if (corrected > 0)
    log().warn({ corrected }, 'readings were begun by a clock that is ahead of this one')
}
