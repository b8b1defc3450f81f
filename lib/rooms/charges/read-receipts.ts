import { log } from '#lib/base/log.ts'
import { bookPage } from '#lib/rooms/charges/book-page.ts'
import { type Clock, claimReadings, type Reading } from '#lib/rooms/charges/claim-readings.ts'
import { endReading, keepPlace, postponeReading } from '#lib/rooms/charges/end-reading.ts'
import { noteUnread } from '#lib/rooms/charges/note-unread.ts'
import { RETRY_PAUSE_MS } from '#lib/rooms/charges/postpone.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import { withConnectionJournal } from '#lib/services/gateway/connection-calls.ts'
import { listPauseMs, requestedPauseMs } from '#lib/services/gateway/order.ts'

/** Work on lists of receipts, which is not awaited. */
export interface ReceiptReader {
  /** Starts what is due. Returns how many readings that were. */
  run: (signal?: AbortSignal) => Promise<number>
  /** Awaits the readings in progress. */
  idle: () => Promise<void>
}

/**
 * Creates a reader of the payments that banks received: it finds those about which no notice came and
 * those of no charge. After a crash at any point, or if two processes read the same list, each payment
 * is booked once. A bank that hangs holds up its own readings only.
 */
export function createReceiptReader(now: Clock = () => new Date()): ReceiptReader {
  const inProgress = new Set<Promise<void>>()
  return {
    async run(signal) {
      const served = (await listServed()).filter(
        ({ gateway }) => gateway.listReceipts && !gateway.local,
      )
      const connections = new Map(served.map(connection => [connection.id, connection]))
      const due = served.length > 0 ? await claimReadings([...connections.keys()], now) : []
      for (const reading of due) {
        const connection = connections.get(reading.connectionId) as ServedConnection
        const work = readList(connection, reading, now, signal)
          .catch(error => {
            const { connectionId, pace } = reading
            log().error({ err: error, connectionId, pace }, 'reading receipts failed')
          })
          .finally(() => inProgress.delete(work))
        inProgress.add(work)
      }
      return due.length
    },
    async idle() {
      await Promise.all(inProgress)
    },
  }
}

/** Books each page before the next one is read. Ends when the lease is lost. */
async function readList(
  connection: ServedConnection,
  reading: Reading,
  now: Clock,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { listReceipts } = withConnectionJournal(connection)
  let hasRead = false
  for (let { place } = reading; listReceipts; hasRead = true) {
    const page = await listReceipts(reading.since, place)
    if (page.outcome !== 'ok') {
      // A place that leads nowhere twice is given up: the list is read from its beginning.
      const nextPlace = ('retryCursor' in page && page.retryCursor) || (hasRead ? place : null)
      const after = (ms: number) => new Date(now().getTime() + ms)
      const askedMs = requestedPauseMs(page)
      const dueAt = after(listPauseMs(page, RETRY_PAUSE_MS))
      await postponeReading(reading, nextPlace, dueAt, askedMs > 0 ? after(askedMs) : null)
      return
    }
    const { items, unread = [], nextCursor } = page.value
    await bookPage(connection.id, items)
    await noteUnread(connection.id, unread)
    place = nextCursor
    if (place === null) {
      await endReading(reading)
      return
    }
    if (signal?.aborted) {
      await postponeReading(reading, place, now())
      return
    }
    if (!(await keepPlace(reading, place, now))) return
  }
}
