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
