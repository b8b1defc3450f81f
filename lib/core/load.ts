import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Share of an interval in which a process that is ready for more work is busy at most. */
export const BUSY_SHARE_MAX = 0.5
/** Part of a rest after work that others waited for. */
export const REST_MS = 5
export const REST_MAX_MS = 50

/** Begins to measure. The returned function returns the share of the time since in which the process was busy. */
export function measureLoad(): () => number {
  const before = performance.eventLoopUtilization()
  return () => performance.eventLoopUtilization(before).utilization
}

/** Waits until the process has caught up with other work. */
export async function rest(): Promise<void> {
  const began = performance.now()
  for (let isBusy = true; isBusy && performance.now() - began < REST_MAX_MS; ) {
    const readBusyShare = measureLoad()
    await sleep(REST_MS)
    isBusy = readBusyShare() > BUSY_SHARE_MAX
  }
}
