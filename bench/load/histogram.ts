/** Fine enough for half a millisecond, long enough for a server's own ten-second limit. */
const BUCKET_US = 5
const LONGEST_US = 10_000_000

/** Counts of latencies in buckets of equal width: recording one costs next to nothing. */
export class Histogram {
  count = 0
  #buckets = new Uint32Array(LONGEST_US / BUCKET_US)

  record(milliseconds: number): void {
    const bucket = Math.floor((milliseconds * 1_000) / BUCKET_US)
    const at = Math.min(bucket, this.#buckets.length - 1)
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1
    this.count++
  }

  /** The latency in milliseconds that this share of all answers did not exceed. */
  quantile(share: number): number {
    const wanted = Math.ceil(this.count * share)
    let seen = 0
    const bucket = this.#buckets.findIndex(many => {
      seen += many
      return seen >= wanted
    })
    return ((bucket + 1) * BUCKET_US) / 1_000
  }
}
