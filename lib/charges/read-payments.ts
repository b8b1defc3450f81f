import { listPauseMs, requestedPauseMs } from '#lib/banks/breaker.ts'
import type { ReceivedPayment, UnreadPayment } from '#lib/banks/gateway.ts'
import { readPages } from '#lib/banks/list-reader.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { RETRY_PAUSE_MS } from '#lib/charges/close.ts'
import { bookPage } from '#lib/charges/receive.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { claim, leaseMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { insertItemsSql } from '#lib/differences/differences.ts'

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
/** Lists that are read at once if a bank has announced what it does not answer. */
type Hastened = Extract<Pace, 'late' | 'returned'>

/** Whether a reading is of the list of payments of which something went back. */
function isOfReturned({ pace }: Pick<Reading, 'pace'>): boolean {
  return pace === 'returned' || pace === 'returned_all'
}

/** Time before a connection was added of which nothing is listed: for a bank whose clock is behind. */
const BEFORE_CREATION_MS = PACES.late.overlapMs
/** Time for which a closed connection is read: payers may still pay what they were shown. */
const AFTER_CLOSING_MS = 7 * DAY_MS

/** A claimed reading of the payments of a connection. */
interface Reading {
  connectionId: string
  pace: Pace
  since: Date
  /** The bank's cursor of a reading that did not end; null: it begins. */
  position: string | null
  /** Fencing token: an update of the row must match it. */
  lease: string
}

type Clock = () => Date

/**
 * Claims due readings of the connections; another process cannot claim them before the lease ends. All
 * times are of the clock by which lists end. One that did not end goes on where it was. None is due while
 * the bank wants a pause of one of them.
 */
async function claimReadings(connectionIds: string[], now: Clock): Promise<Reading[]> {
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

/** Beyond it, the clock of the worker that began a reading was wrong: a smaller one is in each overlap. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000

/**
 * Makes readings due whose last one was begun by a clock ahead of this one: the list did not reach the
 * time that they claim. What was listed is read again, over the overlap.
 */
async function correctFutureReadings(
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

/**
 * Reports payments of a bank's list that cannot be read to staff, each once, with the charge that its
 * txid names. Logs its failure: the payments that can be read are booked.
 */
export async function noteUnread(connectionId: string, unread: UnreadPayment[]): Promise<void> {
  const list = (pick: (payment: UnreadPayment) => string | null) => unread.map(pick)
  const itemIds = unread.map(() => newRoutableId(OPERATOR_ACCOUNT_ID))
  if (unread.length === 0) return
  await db().$executeRaw`
    WITH source AS (
      SELECT u.item_id, ${connectionId}::uuid AS connection_id, 'payment_unreadable' AS kind, u.key,
        jsonb_strip_nulls(jsonb_build_object('account_id', c.account_id, 'transaction_id', c.id,
          'mode', c.mode, 'txid', c.txid, 'expected_amount', c.amount, 'sent', u.sent))::json AS facts
      FROM unnest(${itemIds}::uuid[], ${list(({ key }) => key)}::text[],
        ${list(({ txid }) => txid)}::text[], ${list(({ sent }) => sent)}::text[])
        AS u (item_id, key, txid, sent)
      LEFT JOIN charges c ON c.txid = u.txid AND c.connection_id = ${connectionId}::uuid
    ) ${insertItemsSql('source')}`.catch(err =>
    log().error({ err, connectionId }, 'reporting unreadable payments failed'),
  )
}

/** Stores how far a reading has come and renews its lease. Returns false if the lease was lost. */
async function keepPosition(reading: Reading, position: string, now: Clock): Promise<boolean> {
  const data = { position, dueAt: new Date(now().getTime() + leaseMs()) }
  return updateReading(reading, data)
}

/** Ends a reading that has read the whole list. The next one is due by the time at which it began. */
async function endReading({ connectionId, pace, lease }: Reading): Promise<boolean> {
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
async function postponeReading(
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

/** Work on a listed page of payments, which the caller does not await. */
interface PaymentReader {
  /** Starts what is due. Returns how many readings that were. */
  run: (signal?: AbortSignal) => Promise<number>
  /** Awaits the readings in progress. */
  idle: () => Promise<void>
}

/**
 * Creates a reader of the payments that banks received: it finds those about which no notice came,
 * those of no charge, and what banks gave back of them. After a crash at any point, or if two processes read the same list, each payment
 * is booked once. A bank that hangs holds up its own readings only.
 */
export function createPaymentReader(now: Clock = () => new Date()): PaymentReader {
  const readings = new Pool()
  return {
    async run(signal) {
      const served = (await listServed()).filter(
        ({ gateway }) => gateway.listPayments && !gateway.local,
      )
      const connections = new Map(served.map(connection => [connection.id, connection]))
      const due = served.length > 0 ? await claimReadings([...connections.keys()], now) : []
      for (const reading of due) {
        const connection = connections.get(reading.connectionId) as ServedConnection
        const { connectionId, pace } = reading
        readings.start(readList(connection, reading, now, signal), err =>
          log().error({ err, connectionId, pace }, 'reading payments failed'),
        )
      }
      return due.length
    },
    idle: () => readings.idle(),
  }
}

/** Books each page before the next one is read. Ends when the lease is lost. */
async function readList(
  connection: ServedConnection,
  reading: Reading,
  now: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { listPayments, listReturnedPayments } = withConnectionJournal(connection)
  const list = isOfReturned(reading) ? listReturnedPayments : listPayments
  if (!list) return void (await endReading(reading))
  const { since, position } = reading
  const read = await readPages(list, { since, cursor: position }, async page => {
    const { items, unread = [], nextCursor } = page
    await bookPage(connection.id, items)
    await noteUnread(connection.id, unread)
    if (nextCursor === null) return true
    if (!signal?.aborted) return keepPosition(reading, nextCursor, now)
    await postponeReading(reading, nextCursor, now())
    return false
  })
  if (read.end === 'read') await endReading(reading)
  if (read.end !== 'failed') return
  // A position that leads nowhere twice is given up: the list is read from its beginning.
  const nextPosition = read.retryCursor ?? (read.pages > 0 ? read.cursor : null)
  const after = (ms: number) => new Date(now().getTime() + ms)
  const askedMs = requestedPauseMs(read.failure)
  const dueAt = after(listPauseMs(read.failure, RETRY_PAUSE_MS))
  await postponeReading(reading, nextPosition, dueAt, askedMs > 0 ? after(askedMs) : null)
}

/** Questions about single payments after one batch of notices: one list has all that are beyond. */
const QUESTIONS_MAX = 100
const CONCURRENCY_MAX = 4

/**
 * Asks the bank about payments by their end-to-end ids and books what it has: this depends on no time that the
 * bank writes, and on no list, which may be late. The list is read for the others. Called twice, it books once.
 */
export async function askAboutPayments(
  connection: ServedConnection,
  ids: string[],
  listed: Hastened,
): Promise<void> {
  const { getPayment } = withConnectionJournal(connection)
  const found: ReceivedPayment[] = []
  const left = getPayment ? ids.slice(0, QUESTIONS_MAX) : []
  const ask = async () => {
    for (let id = left.pop(); getPayment && id !== undefined; id = left.pop()) {
      const result = await getPayment(id)
      if (result.outcome === 'ok' && result.value) found.push(result.value)
      // The bank wants no further calls, or cannot take any.
      if (result.outcome === 'retryable' || result.outcome === 'blocked') left.length = 0
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY_MAX }, ask))
  await bookPage(connection.id, found)
  if (found.length < ids.length) await hastenReading(connection.id, listed)
}

/**
 * Has the connection's list of payments read as soon as no reading is in progress and the bank wants no
 * pause: a payment was announced that is not booked, or a return of it.
 */
export async function hastenReading(connectionId: string, pace: Hastened): Promise<void> {
  await db().paymentReading.updateMany({
    where: { connectionId, pace, isWanted: false },
    data: { isWanted: true },
  })
}

/**
 * Makes the open charges of a connection due that a bank names, unless they are being asked about. Returns the txids
 * of those that are open; the others have ended, or there never was one. A charge that is being opened stays: its
 * next step would remove it.
 */
export async function hastenCharges(connectionId: string, txids: string[]): Promise<Set<string>> {
  if (txids.length === 0) return new Set()
  const found = await db().$queryRaw<{ txid: string }[]>`
    WITH picked AS MATERIALIZED (
      SELECT c.account_id, c.id FROM charges c
      WHERE c.txid = ANY(${txids}) AND c.connection_id = ${connectionId}::uuid AND c.due_at > now()
        AND c.status <> 'opening' AND c.lease IS NULL
      FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE charges c SET due_at = now() FROM picked p WHERE c.account_id = p.account_id AND c.id = p.id
    )
    SELECT c.txid FROM charges c
    WHERE c.txid = ANY(${txids}) AND c.connection_id = ${connectionId}::uuid AND c.due_at IS NOT NULL`
  return new Set(found.map(({ txid }) => txid))
}
