import { dayOf } from '#lib/core/locale.ts'
import { claim, leaseMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict, type Tx } from '#lib/db/client.ts'
import { homeZone } from '#lib/db/sql.ts'
import { listOpenOfDay, type OpenDayItem } from '#lib/differences/day-items.ts'

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
export function shiftDay(day: string, count: number): string {
  return new Date(Date.parse(day) + count * 24 * HOUR_MS).toISOString().slice(0, 10)
}

export function startOf(day: string): Date {
  return new Date(`${day}${MIDNIGHT}`)
}

export function endOf(day: string): Date {
  return startOf(shiftDay(day, 1))
}

/** Whether the text is a date of the calendar, such as `2026-11-20`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  return !Number.isNaN(Date.parse(text)) && shiftDay(text, 0) === text
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
  return startOf(shiftDay(day, count)).getTime() + CLOSING_HOUR * HOUR_MS
}

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
        GREATEST(${shiftDay(today, 0 - DAYS_BEFORE)}::date,
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

/** Renews the lease. Returns false if it was lost. */
export async function holdDay(reading: DayReading, now: Date): Promise<boolean> {
  return updateDay(db(), reading, { dueAt: new Date(now.getTime() + leaseMs()) })
}

/** Releases a day that is read on later. `flaw`: why it could not be read. */
export async function postponeDay(
  reading: DayReading,
  dueAt: Date,
  { cursor = null, flaw = null }: { cursor?: string | null; flaw?: string | null } = {},
): Promise<boolean> {
  return updateDay(db(), reading, { dueAt, cursor, lease: null, ...(flaw !== null && { flaw }) })
}

/** Locks a day until the commit. Returns false if the lease was lost. */
export async function lockDay(tx: Tx, { connectionId, day, lease }: DayReading): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT day FROM reconciled_days WHERE connection_id = ${connectionId}::uuid
      AND day = ${day}::date AND lease = ${lease}::uuid FOR UPDATE`
  return rows.length > 0
}

/** What a reading has found out about its day. */
interface DayResult {
  source: 'lists' | 'statement'
  opening: number | null
  closing: number | null
  books: bigint | null
  counts: Record<string, number>
  strays: string[]
  flaw: string | null
  readAt: Date
  dueAt: Date | null
}

/** Stores the result and releases the day. Returns false, and stores nothing, if the lease was lost. */
export function endDay(tx: Tx, reading: DayReading, result: DayResult): Promise<boolean> {
  return updateDay(tx, reading, { ...result, cursor: null, lease: null })
}

async function updateDay(
  tx: Tx,
  { connectionId, day, lease }: DayReading,
  data: Partial<DayResult> & { cursor?: string | null; lease?: null },
): Promise<boolean> {
  const where = { connectionId, day: new Date(day), lease }
  const { count } = await tx.reconciledDay.updateMany({ where, data })
  return count === 1
}

/** Returns the marks of days around this one: what the bank has there, and the books perhaps here. */
export async function findStrays(connectionId: string, day: string): Promise<Set<string>> {
  const rows = await db().reconciledDay.findMany({
    where: {
      connectionId,
      strays: { isEmpty: false },
      AND: [
        { day: { gte: new Date(shiftDay(day, -STRAY_DAYS)), not: new Date(day) } },
        { day: { lte: new Date(shiftDay(day, STRAY_DAYS)) } },
      ],
    },
    select: { strays: true },
  })
  return new Set(rows.flatMap(({ strays }) => strays))
}

/** Days between the booking of a movement and its day at the bank, at most. */
const STRAY_DAYS = 30

/**
 * unread: never read, or the last reading failed for `flaw`. open: not over. items: over, with open items.
 * green: over, and all agrees.
 */
type DayState = 'unread' | 'open' | 'items' | 'green'

export interface DayLine {
  day: string
  state: DayState
  source: string | null
  counts: Record<string, number>
  flaw: string | null
  readAt: Date | null
  items: OpenDayItem[]
}

/** Reads days of a connection, the earliest first. `isOver`: whether a day is over by the bank's calendar. */
export async function listReconciledDays(
  connectionId: string,
  { from, to }: { from: string; to: string },
  now = new Date(),
): Promise<DayLine[]> {
  const rows = await db().reconciledDay.findMany({
    where: { connectionId, day: { gte: new Date(from), lte: new Date(to) } },
    orderBy: { day: 'asc' },
  })
  const today = dayOf(now)
  return Promise.all(
    rows.map(async row => {
      const { source, flaw, readAt } = row
      const day = row.day.toISOString().slice(0, 10)
      const items = await listOpenOfDay({ connectionId, day })
      const isUnread = readAt === null || flaw !== null
      const judged = items.length > 0 ? 'items' : day < today ? 'green' : 'open'
      const state: DayState = isUnread ? 'unread' : judged
      const counts = row.counts as Record<string, number>
      return { day, state, source, counts, flaw, readAt, items }
    }),
  )
}
