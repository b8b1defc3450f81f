import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'
import type { Booking } from '#lib/operator/reconciliation/book-missing.ts'
import {
  claimDay,
  type DayReading,
  holdDay,
  postponeDay,
} from '#lib/operator/reconciliation/claim-day.ts'
import { closeDay } from '#lib/operator/reconciliation/close-day.ts'
import { readBankDay } from '#lib/operator/reconciliation/rows.ts'

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
  const days = new Pool()
  return {
    async run(signal) {
      let count = 0
      for (const connection of await listServed()) {
        if (signal?.aborted) break
        const { id, gateway } = connection
        const hasDays = !gateway.local && (gateway.listPayments || gateway.readStatement)
        if (!hasDays || days.free(id) === 0) continue
        const reading = await claimDay(id, now())
        if (!reading) continue
        count += 1
        const work = reconcile(connection, reading, booking, now)
        days.start(work, error => postponeFailed(reading, error, now), id)
      }
      return count
    },
    idle: () => days.idle(),
  }
}

async function reconcile(
  connection: ServedConnection,
  reading: DayReading,
  booking: Booking,
  now: () => Date,
): Promise<void> {
  const hold = () => holdDay(reading, now())
  const read = await readBankDay(connection, reading, now(), hold)
  if (read.state === 'later') await postponeDay(reading, laterBy(read.pauseMs, now), read)
  else if (await hold()) await closeDay(reading, read.bankDay, booking, now())
}

async function postponeFailed(reading: DayReading, err: unknown, now: () => Date): Promise<void> {
  const { connectionId, day } = reading
  log().error({ err, connectionId, day }, 'reconciling a day failed')
  const dueAt = laterBy(RETRY_PAUSE_MS, now)
  await postponeDay(reading, dueAt, { flaw: 'failed' }).catch(() => {})
}

const laterBy = (ms: number, now: () => Date) => new Date(now().getTime() + ms)
