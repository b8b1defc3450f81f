import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '#lib/core/errors.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'

/** A caller that was idle may receive what its rate allows in this time. */
const WINDOW_S = 10
const WAIT_MAX_S = 2
/** Number of callers above which those that have used nothing of late are dropped. */
const CALLERS_MAX = 10_000

interface Usage {
  /** Bytes received, less what the rate has allowed since. */
  bytes: number
  readAtMs: number
}

const usages = processWide('throughput', () => new Map<string, Usage>())

/** Waits until the caller, a token or a user, is within the rate; refuses above WAIT_MAX_S. */
export async function awaitThroughput(key: string): Promise<void> {
  const rate = env().RATE_TOKEN_BYTES_PER_SECOND
  const usage = usages.get(key)
  if (!usage || rate === 0) return
  const waitS = usedBytes(usage, rate) / rate - WINDOW_S
  if (waitS > WAIT_MAX_S) throw refuse('too_many_requests', { retryAfterS: Math.ceil(waitS) })
  if (waitS > 0) await sleep(waitS * 1_000)
}

/** Limits the bytes of all sessions of a user together, like those of a token. */
export async function limitBytesOfUser(
  state: { throughputKey: string | null },
  userId: string,
): Promise<void> {
  state.throughputKey = `session ${userId}`
  await awaitThroughput(state.throughputKey)
}

export function countBytes(key: string | null, bytes: number): void {
  const rate = env().RATE_TOKEN_BYTES_PER_SECOND
  if (rate === 0 || key === null) return
  const usage = usages.get(key)
  if (usage) usage.bytes = usedBytes(usage, rate) + bytes
  else {
    if (usages.size >= CALLERS_MAX) dropIdle(rate)
    usages.set(key, { bytes, readAtMs: performance.now() })
  }
}

function usedBytes(usage: Usage, rate: number): number {
  const nowMs = performance.now()
  usage.bytes = Math.max(0, usage.bytes - ((nowMs - usage.readAtMs) / 1_000) * rate)
  usage.readAtMs = nowMs
  return usage.bytes
}

function dropIdle(rate: number): void {
  for (const [key, usage] of usages) if (usedBytes(usage, rate) === 0) usages.delete(key)
}
