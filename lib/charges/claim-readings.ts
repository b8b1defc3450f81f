import { correctFutureReadings } from '#lib/charges/correct-readings.ts'
import { claim } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * How often payments are listed, and how far before the end of the last reading: banks list payments
 * late, and their clocks differ. `recent`: only while the bank has charges that may be paid. `returned`, `returned_all`:
 * payments of which the bank gave something back, by the time of the payment, those of a day more often than those of
 * the time in which Pix allows it, with a margin.
 */
export const PACES = {
  recent: { everyMs: 15_000, overlapMs: 90_000 },
  late: { everyMs: 5 * MINUTE_MS, overlapMs: 10 * MINUTE_MS },
  daily: { everyMs: DAY_MS, overlapMs: 48 * HOUR_MS },
  returned: { everyMs: 10 * MINUTE_MS, overlapMs: DAY_MS },
  returned_all: { everyMs: 6 * HOUR_MS, overlapMs: 91 * DAY_MS },
} as const
type Pace = keyof typeof PACES

/** Whether a reading is of the list of payments of which something went back. */
export function isOfReturned({ pace }: Pick<Reading, 'pace'>): boolean {
  return pace === 'returned' || pace === 'returned_all'
}

/** Time before a connection was added of which nothing is listed: for a bank whose clock is behind. */
const BEFORE_CREATION_MS = PACES.late.overlapMs
/** Time for which a closed connection is read: payers may still pay what they were shown. */
const AFTER_CLOSING_MS = 7 * DAY_MS

/** A claimed reading of the payments of a connection. */
export interface Reading {
  connectionId: string
  pace: Pace
  since: Date
  /** The bank's cursor of a reading that did not end; null: it begins. */
  position: string | null
  /** Fencing token: an update of the row must match it. */
  lease: string
}

export type Clock = () => Date

/**
 * Claims due readings of the connections; another process cannot claim them before the lease ends. All
 * times are of the clock by which lists end. One that did not end goes on where it was. None is due while
 * the bank wants a pause of one of them.
 */
export async function claimReadings(connectionIds: string[], now: Clock): Promise<Reading[]> {
  const at = now()
  const paces = Object.keys(PACES)
  const overlaps = Object.values(PACES).map(({ overlapMs }) => overlapMs)
  const nowSql = Prisma.sql`${at}::timestamptz`
  await retryOnConflict(
    () => db().$executeRaw`
      INSERT INTO payment_readings (connection_id, pace, read_until, due_at)
      SELECT n.id, p.pace, n.created_at, ${nowSql}
      FROM connections n, unnest(${paces}::text[]) AS p (pace)
      WHERE n.id = ANY (${connectionIds}::uuid[])
      ON CONFLICT DO NOTHING`,
  )
  await correctFutureReadings(connectionIds, at, PACES.daily.overlapMs)
  return claim<Reading>('payment_readings', connectionIds.length * paces.length, {
    at: nowSql,
    isDue: Prisma.sql`(r.due_at <= ${nowSql} OR (r.is_wanted AND r.lease IS NULL AND r.position IS NULL))`,
    condition: Prisma.sql`r.connection_id = ANY (${connectionIds}::uuid[])
      AND NOT EXISTS (SELECT FROM payment_readings o
        WHERE o.connection_id = r.connection_id AND o.paused_until > ${nowSql})
      AND (r.pace <> 'recent' OR EXISTS (
        SELECT FROM charges c WHERE c.connection_id = r.connection_id AND c.due_at IS NOT NULL))
      AND EXISTS (SELECT FROM connections n WHERE n.id = r.connection_id
        AND (n.disabled_at IS NULL OR n.disabled_at > ${nowSql}
          - make_interval(secs => ${AFTER_CLOSING_MS}::float8 / 1000)))`,
    order: Prisma.sql`r.connection_id, r.pace`,
    set: Prisma.sql`
      until = CASE WHEN r.position IS NULL THEN ${nowSql} ELSE r.until END,
      since = CASE WHEN r.position IS NULL THEN GREATEST(
        (SELECT n.created_at FROM connections n WHERE n.id = r.connection_id)
          - make_interval(secs => ${BEFORE_CREATION_MS}::float8 / 1000),
        (SELECT LEAST(max(o.read_until), ${nowSql}) FROM payment_readings o
          WHERE o.connection_id = r.connection_id
            AND (o.pace LIKE 'returned%') = (r.pace LIKE 'returned%'))
          - make_interval(secs => (SELECT t.overlap_ms / 1000 FROM unnest(${paces}::text[],
            ${overlaps}::float8[]) AS t (pace, overlap_ms) WHERE t.pace = r.pace))) ELSE r.since END,
      is_wanted = r.is_wanted AND r.position IS NOT NULL`,
    returning: Prisma.sql`r.connection_id AS "connectionId", r.pace, r.since, r.position, r.lease`,
  })
}
