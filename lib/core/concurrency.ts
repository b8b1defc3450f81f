import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '#lib/core/errors.ts'

const RETRY_AFTER_S = 1

/** Lets work in while it fits, and always one; the rest waits in the order of arrival. */
export class Gate {
  #taken = 0
  #running = 0
  /** Lets the work in if it fits; a Set keeps the order and deletes in constant time. */
  readonly #waiting = new Set<() => boolean>()

  /** Nothing is inside, so nothing waits. */
  get isEmpty(): boolean {
    return this.#running === 0
  }

  tryEnter(max: number, weight = 1): boolean {
    if (this.#running > 0 && this.#taken + weight > max) return false
    this.#taken += weight
    this.#running++
    return true
  }

  /**
   * Returns the weight with which the work is let in, to leave with; `weigh` is called each time that it
   * may fit. Rejects with `too_many_requests` at the deadline.
   */
  enter(max: number, deadline: number, weigh = () => 1): Promise<number> {
    return new Promise((resolve, reject) => {
      const tryNow = () => {
        const weight = weigh()
        if (!this.tryEnter(max, weight)) return false
        clearTimeout(timer)
        resolve(weight)
        return true
      }
      let timer: NodeJS.Timeout | undefined
      if (this.#waiting.size === 0 && tryNow()) return
      timer = setTimeout(() => {
        this.#waiting.delete(tryNow)
        reject(refuse('too_many_requests', { retryAfterS: RETRY_AFTER_S }))
      }, deadline - performance.now())
      this.#waiting.add(tryNow)
    })
  }

  leave(weight = 1): void {
    this.#taken -= weight
    this.#running--
    for (const tryNow of this.#waiting) {
      if (!tryNow()) return
      this.#waiting.delete(tryNow)
    }
  }
}

/** Above it, empty gates are deleted: not each time, for the reason at `Turns`. */
const GATES_MAX = 1_000
const gates = new Map<string, Gate>()

export function gateOf(name: string): Gate {
  const known = gates.get(name)
  if (known) return known
  if (gates.size >= GATES_MAX)
    for (const [other, { isEmpty }] of gates) if (isEmpty) gates.delete(other)
  const gate = new Gate()
  gates.set(name, gate)
  return gate
}

/** Takes a place in a gate, or waits for one; rejects with `too_many_requests` at the deadline. */
export async function enterGate(name: string, max: number, deadline: number): Promise<void> {
  await gateOf(name).enter(max, deadline)
}

/** Passes the place to the request that has waited longest. */
export function leaveGate(name: string): void {
  gateOf(name).leave()
}

/** Waiting requests of callers who take turns: each turn serves the longest waiting one of a caller. */
export class Turns<Entry = () => void> {
  /** The order of the keys is the order of turns. */
  #waiting = new Map<string, Set<Entry>>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
  }

  add(caller: string, entry: Entry): void {
    const ofCaller = this.#waiting.get(caller) ?? new Set()
    this.#waiting.set(caller, ofCaller.add(entry))
  }

  delete(caller: string, entry: Entry): void {
    const ofCaller = this.#waiting.get(caller)
    ofCaller?.delete(entry)
    if (ofCaller?.size !== 0) return
    this.#waiting.delete(caller)
    // V8 links the tables that a Map outgrows: garbage that has become old would hold all that follows.
    if (this.#waiting.size === 0) this.#waiting = new Map()
  }

  /** Removes and returns the request whose turn it is. */
  take(): Entry | undefined {
    const [[caller, ofCaller] = []] = this.#waiting
    const [entry] = ofCaller ?? []
    if (caller === undefined || !ofCaller || entry === undefined) return undefined
    this.delete(caller, entry)
    // To the end: the next turn is that of another caller.
    if (this.#waiting.delete(caller)) this.#waiting.set(caller, ofCaller)
    return entry
  }
}

/** Shortest pause before freed capacity is reported: a claim costs about as much as a quick call. */
const CAPACITY_DELAY_MS = 2
/** Work in progress per further millisecond: one claim for many freed places costs less for each. */
const WORK_PER_DELAY_MS = 16

/** Work that is started and not awaited, limited per key, so that what hangs for one key delays no other. */
export class Pool {
  readonly #perKeyMax: number
  readonly #onCapacity: (() => void) | undefined
  readonly #works = new Map<string, Set<Promise<void>>>()
  readonly #abortion = new AbortController()
  #size = 0
  #timer: NodeJS.Timeout | undefined

  /** `onCapacity` is called after work has ended: at once when none is left, else together for several. */
  constructor({ perKeyMax = 1, onCapacity }: { perKeyMax?: number; onCapacity?: () => void } = {}) {
    this.#perKeyMax = perKeyMax
    this.#onCapacity = onCapacity
  }

  /** Aborted by `abort`; for work that can be given up. */
  get signal(): AbortSignal {
    return this.#abortion.signal
  }

  /** How much more work of the key may begin. */
  free(key = ''): number {
    return this.#perKeyMax - (this.#works.get(key)?.size ?? 0)
  }

  /** Takes work in, which `onFailure` keeps from stopping any other. Returns its end, which never rejects. */
  start(work: Promise<unknown>, onFailure: (error: unknown) => unknown, key = ''): Promise<void> {
    const ofKey = this.#works.get(key) ?? new Set()
    const ended = work.catch(onFailure).then(() => {
      ofKey.delete(ended)
      if (ofKey.size === 0) this.#works.delete(key)
      this.#size -= 1
      this.#noteCapacity()
    })
    this.#works.set(key, ofKey.add(ended))
    this.#size += 1
    return ended
  }

  /** Awaits the work in progress, and what begins meanwhile. */
  async idle(): Promise<void> {
    while (this.#size > 0) await Promise.all([...this.#works.values()].flatMap(ofKey => [...ofKey]))
  }

  abort(): void {
    this.#abortion.abort()
  }

  #noteCapacity(): void {
    if (!this.#onCapacity) return
    const delayMs = Math.max(CAPACITY_DELAY_MS, this.#size / WORK_PER_DELAY_MS)
    if (this.#size === 0) this.#reportCapacity()
    else this.#timer ??= setTimeout(() => this.#reportCapacity(), delayMs)
  }

  #reportCapacity(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#onCapacity?.()
  }
}

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
