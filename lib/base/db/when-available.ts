import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '#lib/base/errors.ts'

const PAUSE_MS = 1_000

/**
 * Repeats the work while the database is absent or only reads, for `maxSeconds` at most. Each reason is
 * reported once.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  maxSeconds: number,
  report: (line: string) => void,
): Promise<T> {
  const deadline = Date.now() + maxSeconds * 1_000
  let reported = ''
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const { message } = error as Error
      if (!isDatabaseUnavailable(error) || Date.now() >= deadline) throw error
      if (message !== reported) report(`${message}. Waiting for it, ${maxSeconds} s at most`)
      reported = message
      await sleep(PAUSE_MS)
    }
  }
}
