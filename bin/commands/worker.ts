import { setPriority } from 'node:os'
import { openServerRuntime, waitForStop } from '#bin/runtime.ts'
import { setLogRole } from '#lib/core/log.ts'
import { startSpanExport } from '#lib/core/otlp.ts'
import { watchClock } from '#lib/db/clock.ts'
import { startMetrics } from '#lib/http/metrics.ts'
import { startWorker } from '#lib/worker/worker.ts'

/** Process priority (nice value): lower than the web server's, whose requests are more urgent. */
const NICE = 5

export async function runWorker(): Promise<void> {
  setLogRole('worker')
  const stopRequested = waitForStop()
  const runtime = await openServerRuntime(stopRequested)
  try {
    setPriority(NICE)
    const stopMetrics = await startMetrics()
    const exportLastSpans = startSpanExport('worker')
    const worker = startWorker()
    const clock = watchClock({ serves: false })
    process.stderr.write('The worker is running. Press Ctrl-C to stop.\n')
    await stopRequested
    await Promise.all([worker.stop(), clock.stop()])
    stopMetrics()
    await exportLastSpans()
  } finally {
    await runtime.close()
  }
}
