import { setPriority } from 'node:os'
import { withRuntime } from '#bin/command-line.ts'
import { waitForStop } from '#bin/stop.ts'
import { startWorker } from '#lib/edge/jobs/worker.ts'

/** Process priority (nice value): lower than the web server's, whose requests are more urgent. */
const NICE = 5

export async function runWorker(): Promise<void> {
  const settings = { isSupervised: true }
  await withRuntime(async () => {
    setPriority(NICE)
    const worker = startWorker()
    process.stderr.write('The worker is running. Press Ctrl-C to stop.\n')
    await waitForStop()
    await worker.stop()
  }, settings)
}
