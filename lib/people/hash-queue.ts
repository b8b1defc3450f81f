import { refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'

/** Caller that waits for a hash. Known: a signed-in user or known device, by user; else by network. */
export interface HashCaller {
  isKnown: boolean
  key: string
}

interface Group {
  /** Maximum concurrent hashes of the group. */
  runningMax: number
  waitingMax: number
  /** Maximum callers with the same key that wait. */
  waitingPerKeyMax: number
  waitMaxMs: number
}

/**
 * A hash takes 19 MiB and 20 ms on the smallest machine, up to 100 ms if that is busy. Unknown
 * callers get one of the two places, so that a known one waits for none of them. The queue holds
 * about as many as can be served before their users give up.
 */
const GROUPS: Record<'known' | 'unknown', Group> = {
  known: { runningMax: 2, waitingMax: 100, waitingPerKeyMax: 10, waitMaxMs: 5_000 },
  unknown: { runningMax: 1, waitingMax: 60, waitingPerKeyMax: 12, waitMaxMs: 5_000 },
}
/** Maximum concurrent hashes: Node's four threads also serve files, DNS and compression. */
const RUNNING_MAX = 2
const WARNING_INTERVAL_MS = 60_000

type GroupName = keyof typeof GROUPS

/** Waiting callers by key. The first key is the next to be served: one hash each in turn. */
type Waiting = Map<string, (() => void)[]>

interface HashQueue {
  running: Record<GroupName, number>
  waiting: Record<GroupName, Waiting>
  /** Whether the group of unknown callers rests. */
  isResting: boolean
  warnedAt: number
}

const queue = processWide<HashQueue>('hash-queue', () => ({
  running: { known: 0, unknown: 0 },
  waiting: { known: new Map(), unknown: new Map() },
  isResting: false,
  warnedAt: Number.NEGATIVE_INFINITY,
}))

/** Throws `service_unavailable` if the queue has no place for this caller, or after a long wait. */
export async function withHashPlace<T>(caller: HashCaller, work: () => Promise<T>): Promise<T> {
  const name = groupOf(caller)
  await takePlace(name, caller.key)
  const began = performance.now()
  try {
    return await work()
  } finally {
    queue.running[name] -= 1
    if (name === 'unknown') restUnknown(performance.now() - began)
    serveNext()
  }
}

/** Guesses must not keep a processor busy: after each hash, their group rests for as long as it took. */
function restUnknown(durationMs: number): void {
  queue.isResting = true
  const end = () => {
    queue.isResting = false
    serveNext()
  }
  setTimeout(end, durationMs).unref()
}

/** Throws `service_unavailable` if the queue is full, before the caller costs anything else. */
export function requireHashPlace(caller: HashCaller): void {
  const name = groupOf(caller)
  const waiting = queue.waiting[name]
  const { waitingMax, waitingPerKeyMax } = GROUPS[name]
  const isFull = countWaiting(waiting) >= waitingMax
  if (isFull || (waiting.get(caller.key)?.length ?? 0) >= waitingPerKeyMax) throw queueFull(name)
}

async function takePlace(name: GroupName, key: string): Promise<void> {
  const { running, waiting } = queue
  if (hasFreePlace(name) && waiting[name].size === 0) {
    running[name] += 1
    return
  }
  requireHashPlace({ isKnown: name === 'known', key })
  await new Promise<void>((resolve, reject) => {
    const start = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      removeWaiting(waiting[name], key, start)
      reject(queueFull(name))
    }, GROUPS[name].waitMaxMs)
    waiting[name].set(key, [...(waiting[name].get(key) ?? []), start])
  })
}

function serveNext(): void {
  const { running, waiting } = queue
  for (const name of ['known', 'unknown'] as const) {
    const [next] = waiting[name]
    if (!next || !hasFreePlace(name)) continue
    const [key, [start = () => {}]] = next
    removeWaiting(waiting[name], key, start)
    running[name] += 1
    start()
  }
}

/** Removes a caller; the next one with the same key moves behind all other keys. */
function removeWaiting(waiting: Waiting, key: string, start: () => void): void {
  const others = waiting.get(key)?.filter(other => other !== start) ?? []
  waiting.delete(key)
  if (others.length > 0) waiting.set(key, others)
}

function hasFreePlace(name: GroupName): boolean {
  const { running, isResting } = queue
  if (name === 'unknown' && isResting) return false
  return running[name] < GROUPS[name].runningMax && running.known + running.unknown < RUNNING_MAX
}

function countWaiting(waiting: Waiting): number {
  return [...waiting.values()].reduce((sum, callers) => sum + callers.length, 0)
}

function groupOf({ isKnown }: HashCaller): GroupName {
  return isKnown ? 'known' : 'unknown'
}

function queueFull(group: GroupName) {
  if (performance.now() - queue.warnedAt > WARNING_INTERVAL_MS) {
    queue.warnedAt = performance.now()
    log().warn({ group }, 'password queue is full')
  }
  return refuse('service_unavailable')
}
