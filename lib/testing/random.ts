/**
 * Random choices that depend only on the seed and the number of the request, so that each request
 * can be generated alone.
 */
export class Random {
  #state: number

  constructor(seed: number, requestNumber: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(requestNumber + 1, 0x85ebca6b)
  }

  /** Returns a number from 0 up to, but not including, 1 (algorithm: mulberry32). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1))
  }

  chance(share: number): boolean {
    return this.fraction() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T
  }

  some<T>(list: readonly T[]): T[] {
    return list.filter(() => this.chance(0.5))
  }
}
