/** Past this, whatever still holds on is let go: a supervisor would kill us anyway. */
const GRACE_MS = 9_000

/** Ends when somebody asks us to stop: by signal, or because whoever started us is gone. */
export function untilStopped(): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      setTimeout(() => process.exit(1), GRACE_MS).unref()
      resolve()
    }
    // Asked twice is asked once: Ctrl-C reaches us from the terminal and from the bootstrap.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
    process.on('disconnect', stop)
  })
}
