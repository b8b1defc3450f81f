import { readPages } from '#lib/banks/list-reader.ts'
import { listPauseMs, requestedPauseMs } from '#lib/banks/pauses.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { bookPage } from '#lib/charges/book-page.ts'
import {
  type Clock,
  claimReadings,
  isOfReturned,
  type Reading,
} from '#lib/charges/claim-readings.ts'
import { endReading, keepPosition, postponeReading } from '#lib/charges/end-reading.ts'
import { noteUnread } from '#lib/charges/note-unread.ts'
import { RETRY_PAUSE_MS } from '#lib/charges/postpone.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'

/** Work on list of payments, which is not awaited. */
export interface PaymentReader {
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
