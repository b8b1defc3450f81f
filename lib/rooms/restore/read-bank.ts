import { log } from '#lib/base/log.ts'
import { type PageRead, pageReaderOf, type RestoreBooking } from '#lib/rooms/restore/read-page.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import {
  type ClosureReading,
  claimClosures,
  endClosure,
  endClosureList,
  keepClosurePlace,
  postponeClosure,
} from '#lib/services/gateway/closures.ts'
import { listPauseMs } from '#lib/services/gateway/pauses.ts'

/** Pause before what could not be read is read on, or what has not ended at the bank is read again. */
const RETRY_PAUSE_MS = 60_000
/** Pause of a bank without lists: another version of its adapter may have them. */
const UNLISTED_PAUSE_MS = 5 * 60_000

export interface RestoreReader {
  /** Starts what is due. Returns how many readings that were. */
  run: (signal?: AbortSignal) => Promise<number>
  idle: () => Promise<void>
}

/**
 * Creates the reader of what banks have received and sent since a restore. Money out of a connection opens by
 * itself when all is read and booked. After a crash at any point, or if two processes read the same list, each
 * payment is booked once; an order that cannot be booked keeps the connection closed.
 */
export function createRestoreReader(booking: RestoreBooking): RestoreReader {
  const inProgress = new Set<Promise<void>>()
  return {
    async run(signal) {
      const served = (await listServed()).filter(({ gateway }) => !gateway.local)
      const connections = new Map(served.map(connection => [connection.id, connection]))
      const due = served.length > 0 ? await claimClosures([...connections.keys()]) : []
      for (const reading of due) {
        const connection = connections.get(reading.connectionId) as ServedConnection
        const work = readOn(connection, reading, booking, signal)
          .catch(async error => {
            const { connectionId, list } = reading
            log().error({ err: error, connectionId, list }, 'reading after a restore failed')
            await postponeClosure(reading, { ...AGAIN, flaw: 'failed' }).catch(() => {})
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

const AGAIN = { pauseMs: RETRY_PAUSE_MS, place: null }

/** Reads list after list. Ends when the lease is lost or people have opened the connection. */
async function readOn(
  connection: ServedConnection,
  first: ClosureReading,
  booking: RestoreBooking,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let reading: ClosureReading | null = first; reading; ) {
    const readPage = pageReaderOf(connection, reading, booking)
    if (!readPage) {
      const unlisted = { pauseMs: UNLISTED_PAUSE_MS, place: null, flaw: `no_${reading.list}` }
      return postponeClosure(reading, unlisted)
    }
    const page = await readPage()
    if ('failure' in page) return postponeFailed(reading, page.failure)
    const { nextCursor, unsettled } = page
    if (nextCursor !== null) {
      if (!(await keepClosurePlace(reading, nextCursor, unsettled))) return
      if (signal?.aborted)
        return postponeClosure(reading, { pauseMs: 0, place: nextCursor, flaw: null })
      reading = { ...reading, place: nextCursor }
    } else if (reading.list === 'payouts') {
      await endClosure(reading, unsettled, RETRY_PAUSE_MS)
      return
    } else reading = await endClosureList(reading, unsettled)
  }
}

function postponeFailed(
  reading: ClosureReading,
  failure: Extract<PageRead, { failure: unknown }>['failure'],
): Promise<void> {
  const { retryCursor = null } = 'retryCursor' in failure ? failure : {}
  const pauseMs = listPauseMs(failure, RETRY_PAUSE_MS)
  return postponeClosure(reading, { pauseMs, place: retryCursor, flaw: failure.outcome })
}
