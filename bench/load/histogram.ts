/** Width of a class: 1 % of a latency of 0.5 ms. */
const CLASS_US = 5
/** Upper end of the histogram: the server's time limit of 10 s. */
const LONGEST_US = 10_000_000

/** Counts latencies in classes of equal width, so that recording is a single increment. */
export class Histogram {
  count = 0
  #counts = new Uint32Array(LONGEST_US / CLASS_US)

  record(milliseconds: number): void {
    const nth = Math.floor((milliseconds * 1_000) / CLASS_US)
    const index = Math.min(nth, this.#counts.length - 1)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.count++
  }

  quantile(share: number): number {
    const target = Math.ceil(this.count * share)
    let seen = 0
    const nth = this.#counts.findIndex(count => {
      seen += count
      return seen >= target
    })
    return ((nth + 1) * CLASS_US) / 1_000
  }
}
