const RUNS = 3

/** The shortest of three runs: a busy machine delays one of them, slow code delays all. */
export async function fastestMs(work: () => unknown): Promise<number> {
  const tookMs: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const startedAt = performance.now()
    await work()
    tookMs.push(performance.now() - startedAt)
  }
  return Math.min(...tookMs)
}

/** What this process computed meanwhile on all its threads, however long they waited for a turn. */
export async function computedMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
