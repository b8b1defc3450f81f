import { dayOf } from '#lib/core/locale.ts'
import { claim } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { homeZone } from '#lib/db/sql.ts'
import { addDays } from '#lib/operator/reconciliation/calendar.ts'

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
  const nowSql = Prisma.sql`${now}::timestamptz`
  await retryOnConflict(
    () => db().$executeRaw`
      INSERT INTO reconciled_days (connection_id, day, due_at)
      SELECT n.id, d::date, ${nowSql}
      FROM connections n, generate_series(
        GREATEST(${addDays(today, 0 - DAYS_BEFORE)}::date,
          (n.created_at AT TIME ZONE ${homeZone})::date), ${today}::date, '1 day') d
      WHERE n.id = ${connectionId}::uuid AND (n.disabled_at IS NULL
        OR (n.disabled_at > ${nowSql} - make_interval(days => ${DAYS_AFTER_CLOSING}::int)
          -- Another one to the same bank account has its days.
          AND NOT EXISTS (SELECT FROM connections o WHERE o.disabled_at IS NULL
            AND o.environment = n.environment AND o.receiving_keys && n.receiving_keys)))
      ON CONFLICT DO NOTHING`,
  )
  const [reading] = await claim<DayReading>('reconciled_days', 1, {
    at: nowSql,
    condition: Prisma.sql`r.connection_id = ${connectionId}::uuid`,
    order: Prisma.sql`r.day`,
    set: null,
    returning: Prisma.sql`r.connection_id AS "connectionId", r.day::text AS day, r.cursor, r.lease,
      (SELECT n.created_at FROM connections n WHERE n.id = r.connection_id) AS since`,
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
