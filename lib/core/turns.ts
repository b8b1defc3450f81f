/** Waiting requests of callers who take turns: each turn serves the longest waiting one of a caller. */
export class Turns<Entry = () => void> {
  /** The order of the keys is the order of turns. */
  readonly #waiting = new Map<string, Set<Entry>>()

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
    if (ofCaller?.size === 0) this.#waiting.delete(caller)
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
