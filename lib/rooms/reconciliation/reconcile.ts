import { log } from '#lib/base/log.ts'
import type { Booking } from '#lib/rooms/reconciliation/book-missing.ts'
import { claimDay, type DayReading } from '#lib/rooms/reconciliation/claim-day.ts'
import { closeDay } from '#lib/rooms/reconciliation/close-day.ts'
import { holdDay, postponeDay } from '#lib/rooms/reconciliation/end-day.ts'
import { readBankDay } from '#lib/rooms/reconciliation/read-bank-day.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'

/** Pause after a failure of this process. */
const RETRY_PAUSE_MS = 60_000

/** Work on days of banks, which is not awaited. */
export interface Reconciler {
  /** Starts what is due. Returns how many days that were. */
  run: (signal?: AbortSignal) => Promise<number>
  /** Awaits the work in progress. */
  idle: () => Promise<void>
}

/**
 * Creates a worker that holds the days of banks against the books: today and a day that is not closed every
 * 10 minutes by lists, and each night the three days before, by their statement if the bank has one. Each
 * connection has one day in work, the earliest first. A bank that hangs holds up its own days only.
 */
export function createReconciler(booking: Booking, now = () => new Date()): Reconciler {
  const inProgress = new Map<string, Promise<void>>()
  return {
    async run(signal) {
      let count = 0
      for (const connection of await listServed()) {
        if (signal?.aborted) break
        const { id, gateway } = connection
        const hasDays = !gateway.local && (gateway.listReceipts || gateway.readStatement)
        if (!hasDays || inProgress.has(id)) continue
        const reading = await claimDay(id, now())
        if (!reading) continue
        count += 1
        const work = reconcile(connection, reading, booking, now).finally(() => {
          inProgress.delete(id)
        })
        inProgress.set(id, work)
      }
      return count
    },
    async idle() {
      await Promise.all(inProgress.values())
    },
  }
}

async function reconcile(
  connection: ServedConnection,
  reading: DayReading,
  booking: Booking,
  now: () => Date,
): Promise<void> {
  const after = (ms: number) => new Date(now().getTime() + ms)
  const hold = () => holdDay(reading, now())
  try {
    const read = await readBankDay(connection, reading, now(), hold)
    if (read.state === 'later') await postponeDay(reading, after(read.pauseMs), read)
    else if (await hold()) await closeDay(reading, read.bankDay, booking, now())
  } catch (err) {
    const { connectionId, day } = reading
    log().error({ err, connectionId, day }, 'reconciling a day failed')
    await postponeDay(reading, after(RETRY_PAUSE_MS), { flaw: 'failed' }).catch(() => {})
  }
}
