import { randomUUID } from 'node:crypto'
import { leaseMs } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { homeZone } from '#lib/base/db/columns.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { dayOf } from '#lib/base/home-time.ts'
import { addDays } from '#lib/rooms/reconciliation/calendar.ts'

/** Days before today that begin with a new connection, or after a time in which no worker ran. */
const DAYS_BEFORE = 3

/** Days for which a closed connection is read: payers may still pay what they were shown. */
const DAYS_AFTER_CLOSING = 7

/** A claimed reading of a day of a connection. */
export interface DayReading {
  connectionId: string
  day: string
  /** The bank's id of a statement in the making. */
  cursor: string | null
  /** Fencing token: an update of the row must match it. */
  lease: string
  /** Time from which the connection exists. */
  since: Date
}

/**
 * Claims the earliest due day of a connection; another process cannot claim it before the lease ends. A day
 * that a killed worker had begun is read again, its statement under the same id.
 */
export async function claimDay(connectionId: string, now: Date): Promise<DayReading | null> {
  const today = dayOf(now)
  const lease = randomUUID()
  const [reading] = await retryOnConflict(async () => {
    await db().$executeRaw`
      INSERT INTO reconciled_days (connection_id, day, due_at)
      SELECT n.id, d::date, ${now}::timestamptz
      FROM connections n, generate_series(
        GREATEST(${addDays(today, 0 - DAYS_BEFORE)}::date,
          (n.created_at AT TIME ZONE ${homeZone})::date), ${today}::date, '1 day') d
      WHERE n.id = ${connectionId}::uuid AND (n.disabled_at IS NULL
        OR (n.disabled_at > ${now}::timestamptz - make_interval(days => ${DAYS_AFTER_CLOSING}::int)
          -- Another one to the same bank account has its days.
          AND NOT EXISTS (SELECT FROM connections o WHERE o.disabled_at IS NULL
            AND o.environment = n.environment AND o.receiving_keys && n.receiving_keys)))
      ON CONFLICT DO NOTHING`
    return db().$queryRaw<DayReading[]>`
      UPDATE reconciled_days d SET lease = ${lease}::uuid,
        due_at = ${now}::timestamptz + make_interval(secs => ${leaseMs()}::float8 / 1000)
      FROM (
        SELECT connection_id, day FROM reconciled_days
        WHERE connection_id = ${connectionId}::uuid AND due_at <= ${now}::timestamptz
        ORDER BY day LIMIT 1 FOR UPDATE SKIP LOCKED) p, connections n
      WHERE d.connection_id = p.connection_id AND d.day = p.day AND n.id = d.connection_id
      RETURNING d.connection_id AS "connectionId", d.day::text AS day, d.cursor, d.lease,
        n.created_at AS since`
  })
  return reading ?? null
}

/** Makes days due at once, those that are read no more included. */
export async function requestDays(
  connectionId: string,
  { from, to }: { from: string; to: string },
  now: Date,
): Promise<void> {
  await db().$executeRaw`
    INSERT INTO reconciled_days (connection_id, day, due_at)
    SELECT ${connectionId}::uuid, d::date, ${now}::timestamptz
    FROM generate_series(${from}::date, ${to}::date, '1 day') d
    ON CONFLICT (connection_id, day) DO UPDATE SET due_at = excluded.due_at
    WHERE reconciled_days.lease IS NULL`
}
