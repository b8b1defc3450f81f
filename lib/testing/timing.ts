const RUNS = 3

/** Returns the shortest of three runs: a busy machine delays one, slow code all of them. */
export async function measureFastestMs(work: () => unknown): Promise<number> {
  const tookMs: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const startedAt = performance.now()
    await work()
    tookMs.push(performance.now() - startedAt)
  }
  return Math.min(...tookMs)
}

/** Returns the CPU time of this process during the work, over all its threads. */
export async function measureCpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
