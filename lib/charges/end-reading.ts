import { type Clock, PACES, type Reading } from '#lib/charges/claim-readings.ts'
import { leaseMs } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'

/** Stores how far a reading has come and renews its lease. Returns false if the lease was lost. */
export async function keepPosition(
  reading: Reading,
  position: string,
  now: Clock,
): Promise<boolean> {
  const data = { position, dueAt: new Date(now().getTime() + leaseMs()) }
  return updateReading(reading, data)
}

/** Ends a reading that has read the whole list. The next one is due by the time at which it began. */
export async function endReading({ connectionId, pace, lease }: Reading): Promise<boolean> {
  const ended = await db().$executeRaw`
    UPDATE payment_readings SET read_until = GREATEST(read_until, until), position = NULL, lease = NULL,
      due_at = until + make_interval(secs => ${PACES[pace].everyMs}::float8 / 1000)
    WHERE connection_id = ${connectionId}::uuid AND pace = ${pace} AND lease = ${lease}::uuid`
  return ended === 1
}

/**
 * Releases a reading that goes on later: at `position`, or from the beginning. Until `pausedUntil`, no list
 * of the connection is read.
 */
export async function postponeReading(
  reading: Reading,
  position: string | null,
  dueAt: Date,
  pausedUntil: Date | null = null,
): Promise<boolean> {
  return updateReading(reading, { position, dueAt, pausedUntil, lease: null })
}

async function updateReading(
  { connectionId, pace, lease }: Reading,
  data: { position: string | null; dueAt: Date; pausedUntil?: Date | null; lease?: null },
): Promise<boolean> {
  const { count } = await db().paymentReading.updateMany({
    where: { connectionId, pace, lease },
    data,
  })
  return count === 1
}
