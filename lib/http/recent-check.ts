/** Waits of a request other than for its body: for its rate, or for a request with the same key. */
const AGE_MAX_MS = 1_000

/**
 * Result of a check that may be outdated once the request has waited, because the caller decides how
 * long: by sending the body slowly. A request that did not wait is checked once.
 */
export class RecentCheck<Result> {
  readonly #check: () => Promise<Result>
  #last: { result: Result; checkedAt: number } | null = null

  constructor(check: () => Promise<Result>) {
    this.#check = check
  }

  /** Checks if that has not happened yet, or too long ago. */
  async read(): Promise<Result> {
    if (this.#last && performance.now() - this.#last.checkedAt <= AGE_MAX_MS)
      return this.#last.result
    const result = await this.#check()
    this.#last = { result, checkedAt: performance.now() }
    return result
  }

  /** Makes the next `read` check again. */
  expire(): void {
    this.#last = null
  }
}
