/** Time limit of a shutdown; then the process exits, since a supervisor would kill it anyway. */
const GRACE_MS = 9_000

/** Resolves when the process must stop: on a signal, or when the parent process disconnects. */
export function waitForStop(): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      setTimeout(() => process.exit(1), GRACE_MS).unref()
      resolve()
    }
    // `on`, not `once`: Ctrl-C arrives twice, from the terminal and from the bootstrap.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
    process.on('disconnect', stop)
  })
}
