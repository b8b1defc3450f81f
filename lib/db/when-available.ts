import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'

const PAUSE_MS = 1_000

interface Patience {
  maxSeconds: number
  /** Resolves when the process must stop. */
  stopRequested?: Promise<unknown> | undefined
  report: (line: string) => void
}

/** Ends the wait for the database because the process must stop. */
export class StoppedError extends Error {}

/**
 * Repeats the work while the database is absent or only reads, for `maxSeconds` at most. Each reason is
 * reported once. A request to stop ends it at once, also during an attempt, which may be cut off at any point.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  { maxSeconds, stopRequested = new Promise(() => {}), report }: Patience,
): Promise<T> {
  const stopped = stopRequested.then(() => {
    throw new StoppedError('the process must stop')
  })
  const deadline = performance.now() + maxSeconds * 1_000
  let reported = ''
  for (;;) {
    try {
      return await Promise.race([work(), stopped])
    } catch (error) {
      const { message } = error as Error
      if (!isDatabaseUnavailable(error) || performance.now() >= deadline) throw error
      if (message !== reported) report(`${message}. Waiting for it, ${maxSeconds} s at most`)
      reported = message
      await Promise.race([sleep(PAUSE_MS), stopped])
    }
  }
}
