import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { db } from '#lib/db/client.ts'
import { LATENCY_BOUNDS_MS, latencyClassOf } from '#lib/operator/overview.ts'

const HOUR_MS = 3_600_000
/** A crash loses the counts of at most this long; a stop stores them. */
const STORE_INTERVAL_MS = 10_000

interface Counts {
  succeeded: number
  refused: number
  limited: number
  failed: number
  latencies: number[]
}

/** Counts that are not stored yet, by the beginning of their hour. */
const pending = processWide('request counts', () => ({ hours: new Map<number, Counts>() }))

/** Counts a response of the API in memory; nothing is written here. */
export function countRequest(status: number, tookMs: number): void {
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  let counts = pending.hours.get(hour)
  if (!counts) {
    const latencies = Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
    counts = { succeeded: 0, refused: 0, limited: 0, failed: 0, latencies }
    pending.hours.set(hour, counts)
  }
  if (status === 429) counts.limited++
  else if (status >= 500) counts.failed++
  else if (status >= 400) counts.refused++
  else counts.succeeded++
  const nth = latencyClassOf(tookMs)
  counts.latencies[nth] = (counts.latencies[nth] ?? 0) + 1
}

/** Adds the pending counts to those of all processes. Those that cannot be stored stay pending. */
export async function storeRequestCounts(): Promise<void> {
  for (const [hour, counts] of [...pending.hours]) {
    pending.hours.delete(hour)
    const { succeeded, refused, limited, failed, latencies } = counts
    try {
      await db().$executeRaw`
        INSERT INTO request_counts AS r (hour, succeeded, refused, limited, failed, latencies)
        VALUES (${new Date(hour)}, ${succeeded}, ${refused}, ${limited}, ${failed},
          ${latencies}::bigint[])
        ON CONFLICT (hour) DO UPDATE SET succeeded = r.succeeded + excluded.succeeded,
          refused = r.refused + excluded.refused, limited = r.limited + excluded.limited,
          failed = r.failed + excluded.failed,
          latencies = (SELECT array_agg(COALESCE(u.stored, 0) + COALESCE(u.added, 0) ORDER BY u.nth)
            FROM unnest(r.latencies, excluded.latencies) WITH ORDINALITY AS u (stored, added, nth))`
    } catch (error) {
      restore(hour, counts)
      throw error
    }
  }
}

function restore(hour: number, counts: Counts): void {
  const newer = pending.hours.get(hour)
  if (!newer) return void pending.hours.set(hour, counts)
  for (const key of ['succeeded', 'refused', 'limited', 'failed'] as const)
    newer[key] += counts[key]
  for (const [nth, count] of counts.latencies.entries())
    newer.latencies[nth] = (newer.latencies[nth] ?? 0) + count
}

/** Stores the counts of this process regularly. Returns a function that stores the last ones. */
export function startStoringCounts(): () => Promise<void> {
  const store = () =>
    storeRequestCounts().catch(error => log().warn({ err: error }, 'storing request counts failed'))
  const timer = setInterval(store, STORE_INTERVAL_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    return store()
  }
}
