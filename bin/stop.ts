import { env } from '#lib/core/settings.ts'

/** Time limit of a shutdown after draining; then the process exits: a supervisor would kill it anyway. */
const GRACE_MS = 9_000

export type StopCause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'disconnect'

/** Resolves when the process must stop: on a signal, or when the parent process disconnects. */
export function waitForStop(): Promise<StopCause> {
  return new Promise(resolve => {
    const stop = (cause: StopCause = 'disconnect') => {
      setTimeout(() => process.exit(1), GRACE_MS + drainMs(cause)).unref()
      resolve(cause)
    }
    // `on`, not `once`: Ctrl-C arrives twice, from the terminal and from the bootstrap.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
    process.on('disconnect', stop)
  })
}

/** Time for which a process serves after the signal, so that balancers notice. Ctrl-C (SIGINT) has none. */
export function drainMs(cause: StopCause): number {
  return cause === 'SIGTERM' ? env().DRAIN_SECONDS * 1_000 : 0
}
