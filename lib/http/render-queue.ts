import { BUSY_SHARE_MAX, measureLoad, REST_MAX_MS, REST_MS } from '#lib/core/load.ts'
import { Turns } from '#lib/core/turns.ts'

/** Maximum renders in progress, while all of them wait for the database. */
const RENDERS_MAX = 40
/** Interval at which more renders may begin beside those in progress. */
const CHECK_INTERVAL_MS = 50
/**
 * Begins one render after the other. Rendering needs the processor: several at once end no sooner, and
 * an API request waits for a part of each. While renders only wait for the database, more begin.
 */
export class RenderQueue {
  #active = 0
  readonly #waiting = new Turns()
  #timer: NodeJS.Timeout | null = null
  #readBusyShare = () => 0
  #endedAt = 0
  readonly #measure: () => () => number

  constructor(measure = measureLoad) {
    this.#measure = measure
  }

  /** Returns true when a render may begin, or false at the deadline. Addresses take turns. */
  enter(address: string, deadline: number): Promise<boolean> {
    if (this.#active === 0 && this.#waiting.isEmpty) {
      this.#active++
      return Promise.resolve(true)
    }
    return new Promise(resolve => {
      const begin = () => {
        clearTimeout(timeout)
        resolve(true)
      }
      const timeout = setTimeout(() => {
        this.#waiting.delete(address, begin)
        resolve(false)
      }, deadline - performance.now())
      this.#waiting.add(address, begin)
      if (!this.#timer) this.#checkAfter(CHECK_INTERVAL_MS)
    })
  }

  leave(): void {
    this.#active--
    if (this.#active > 0 || this.#waiting.isEmpty) return
    this.#endedAt = performance.now()
    this.#checkAfter(REST_MS)
  }

  #checkAfter(delayMs: number): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#readBusyShare = this.#measure()
    this.#timer = setTimeout(() => this.#check(), delayMs)
  }

  #check(): void {
    this.#timer = null
    const isBusy = this.#readBusyShare() > BUSY_SHARE_MAX
    const isRested = performance.now() - this.#endedAt >= REST_MAX_MS
    if (this.#active === 0 && isBusy && !isRested) {
      this.#checkAfter(REST_MS)
      return
    }
    const more = this.#active === 0 ? 1 : isBusy ? 0 : this.#active
    for (let nth = 0; nth < more && this.#active < RENDERS_MAX; nth++) this.#beginNext()
    if (!this.#waiting.isEmpty) this.#checkAfter(CHECK_INTERVAL_MS)
  }

  #beginNext(): void {
    const begin = this.#waiting.take()
    if (!begin) return
    this.#active++
    begin()
  }
}
