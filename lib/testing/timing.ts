const RUN_COUNT = 3

/** Returns the shortest of three runs: a busy machine delays one, slow code all of them. */
export async function measureFastestMs(work: () => unknown): Promise<number> {
  const durationsMs: number[] = []
  for (let run = 0; run < RUN_COUNT; run++) {
    const startedAt = performance.now()
    await work()
    durationsMs.push(performance.now() - startedAt)
  }
  return Math.min(...durationsMs)
}

/** Returns the CPU time of this process during the work, over all its threads. */
export async function measureCpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
