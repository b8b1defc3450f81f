import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '#lib/base/errors.ts'
import { currentLogContext } from '#lib/base/log.ts'
import { processWide } from '#lib/base/process-wide.ts'

/** Bytes that the reads of one account in progress have together, unless it is only one. */
const BUDGET = 1_024 * 1_024
/** As long as a request waits for a connection at most. */
const WAIT_MAX_MS = 30_000
const RETRY_AFTER_S = 1
/** After a read of this size its account rests, until the process is idle for half of an interval. */
const LARGE_BYTES = 256 * 1_024
const REST_INTERVAL_MS = 5
const REST_MAX_MS = 50
const BUSY_SHARE_MAX = 0.5
/** Expected of each read at least, also after empty ones: more than 16 large ones never begin at once. */
const EXPECTED_MIN = 64 * 1_024
/** What is left of the known size after a smaller read: a few small ones do not hide a large one. */
const SIZE_DECAY = 0.9
/** Number of accounts above which those that read nothing now are forgotten. */
const LANES_MAX = 10_000

interface Lane {
  /** Bytes that the next read is expected to have. Before the first has ended, the whole budget. */
  expected: number | null
  /** Expected bytes of the reads in progress. */
  taken: number
  running: number
  /** Begins the read if it fits; a Set keeps the order and deletes in constant time. */
  waiting: Set<() => boolean>
}

const lanes = processWide('read-lanes', () => new Map<string, Lane>())

/**
 * Runs reads of one account at the same time while they fit into BUDGET, by the size of earlier ones.
 * Large reads end no sooner at the same time, and a request of another account would wait for a part
 * of each. Work of the process itself is not limited.
 */
export async function readWithinBudget<Result extends { bytes: number }>(
  read: () => Promise<Result>,
): Promise<Result> {
  const { accountId } = currentLogContext()
  if (accountId === undefined) return read()
  const lane = laneOf(accountId)
  const taken = await enter(lane)
  let bytes = 0
  try {
    const result = await read()
    bytes = result.bytes
    lane.expected = Math.max(bytes, EXPECTED_MIN, (lane.expected ?? 0) * SIZE_DECAY)
    return result
  } finally {
    if (bytes < LARGE_BYTES) leave(lane, taken)
    else rest().then(() => leave(lane, taken))
  }
}

function laneOf(accountId: string): Lane {
  const known = lanes.get(accountId)
  if (known) return known
  if (lanes.size >= LANES_MAX)
    for (const [id, { running }] of lanes) if (running === 0) lanes.delete(id)
  const lane = { expected: null, taken: 0, running: 0, waiting: new Set<() => boolean>() }
  lanes.set(accountId, lane)
  return lane
}

/** Returns the bytes that the read takes until it leaves. */
function enter(lane: Lane): Promise<number> {
  return new Promise((resolve, reject) => {
    const tryStart = () => {
      const expected = lane.expected ?? BUDGET
      if (lane.running > 0 && lane.taken + expected > BUDGET) return false
      clearTimeout(timer)
      lane.taken += expected
      lane.running++
      resolve(expected)
      return true
    }
    let timer: NodeJS.Timeout | undefined
    if (lane.waiting.size === 0 && tryStart()) return
    const giveUp = () => {
      lane.waiting.delete(tryStart)
      reject(refuse('too_many_requests', { retryAfterS: RETRY_AFTER_S }))
    }
    timer = setTimeout(giveUp, WAIT_MAX_MS)
    lane.waiting.add(tryStart)
  })
}

function leave(lane: Lane, taken: number): void {
  lane.taken -= taken
  lane.running--
  for (const tryStart of lane.waiting) {
    if (!tryStart()) return
    lane.waiting.delete(tryStart)
  }
}

async function rest(): Promise<void> {
  const began = performance.now()
  for (let isBusy = true; isBusy && performance.now() - began < REST_MAX_MS; ) {
    const before = performance.eventLoopUtilization()
    await sleep(REST_INTERVAL_MS)
    isBusy = performance.eventLoopUtilization(before).utilization > BUSY_SHARE_MAX
  }
}
