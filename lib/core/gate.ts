import { refuse } from '#lib/core/errors.ts'
import { processWide } from '#lib/core/process-wide.ts'

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

const gates = processWide('in-flight', () => new Map<string, Gate>())

export function gateOf(name: string): Gate {
  const known = gates.get(name)
  if (known) return known
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
  const gate = gateOf(name)
  gate.leave()
  if (gate.isEmpty) gates.delete(name)
}
