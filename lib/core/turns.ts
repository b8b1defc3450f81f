/** Waiting requests of callers who take turns: each turn serves the longest waiting one of a caller. */
export class Turns {
  /** The order of the keys is the order of turns. */
  readonly #waiting = new Map<string, Set<() => void>>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
  }

  add(caller: string, begin: () => void): void {
    const ofCaller = this.#waiting.get(caller) ?? new Set()
    this.#waiting.set(caller, ofCaller.add(begin))
  }

  delete(caller: string, begin: () => void): void {
    const ofCaller = this.#waiting.get(caller)
    ofCaller?.delete(begin)
    if (ofCaller?.size === 0) this.#waiting.delete(caller)
  }

  /** Removes and returns the request whose turn it is. */
  take(): (() => void) | undefined {
    const [[caller, ofCaller] = []] = this.#waiting
    const [begin] = ofCaller ?? []
    if (caller === undefined || !ofCaller || !begin) return undefined
    this.delete(caller, begin)
    // To the end: the next turn is that of another caller.
    if (this.#waiting.delete(caller)) this.#waiting.set(caller, ofCaller)
    return begin
  }
}
