import { withRuntime } from '#bin/command-line.ts'
import { untilStopped } from '#bin/stop.ts'
import { startWorker } from '#lib/jobs/worker.ts'

export async function runWorker(): Promise<void> {
  const settings = { staysUp: true }
  await withRuntime(async () => {
    const worker = startWorker()
    process.stderr.write('The worker runs. Ctrl-C ends it.\n')
    await untilStopped()
    await worker.stop()
  }, settings)
}
