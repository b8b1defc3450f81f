import { log } from '#lib/core/log.ts'
import type { Embedded } from '#lib/db/embedded.ts'
import { readProcessIdentity } from '#lib/db/process.ts'

const CHECK_MS = 500

/** Restarts PostgreSQL when it dies. Ends this process if the URL changes, which it still uses. */
export function supervisePostgres(
  first: Embedded,
  open: () => Promise<Embedded>,
): () => Promise<void> {
  const opened = [first]
  let restarting: Promise<void> | null = null

  async function restart(): Promise<void> {
    try {
      const next = await open()
      opened.push(next)
      log().error('embedded PostgreSQL exited and was restarted')
      if (next.url !== first.url) process.kill(process.pid, 'SIGTERM')
    } catch (error) {
      log().error({ err: error }, 'embedded PostgreSQL exited and could not be restarted')
    }
  }

  const checkTimer = setInterval(() => {
    const pid = opened.at(-1)?.pid ?? 0
    if (restarting || readProcessIdentity(pid) !== null) return
    restarting = restart().finally(() => {
      restarting = null
    })
  }, CHECK_MS)

  return async () => {
    clearInterval(checkTimer)
    await restarting
    for (const embedded of opened) await embedded.release()
  }
}
