import type { Embedded } from '#lib/base/db/embedded.ts'
import { lifeOf } from '#lib/base/db/process.ts'
import { log } from '#lib/base/log.ts'

const CHECK_MS = 500

/**
 * Starts the PostgreSQL inside again when it died under us. It takes its old port where it can, so
 * the connections heal by themselves; on another one we stop, for whoever watches to start us anew.
 */
export function keepAlive(first: Embedded, open: () => Promise<Embedded>): () => Promise<void> {
  const opened = [first]
  let reviving: Promise<void> | null = null

  async function revive(): Promise<void> {
    try {
      const next = await open()
      opened.push(next)
      log().error('the database inside had ended and was started again')
      if (next.url !== first.url) process.kill(process.pid, 'SIGTERM')
    } catch (error) {
      log().error({ err: error }, 'the database inside has ended and does not start')
    }
  }

  const checking = setInterval(() => {
    const pid = opened.at(-1)?.pid ?? 0
    if (reviving || lifeOf(pid) !== null) return
    reviving = revive().finally(() => {
      reviving = null
    })
  }, CHECK_MS)

  return async () => {
    clearInterval(checking)
    await reviving
    for (const embedded of opened) await embedded.release()
  }
}
