/** Fine enough for latencies of 0.5 ms, long enough for the server's limit of 10 seconds. */
const BUCKET_US = 5
const LONGEST_US = 10_000_000

/** Latencies in buckets of equal width: recording one costs next to nothing. */
export class Histogram {
  count = 0
  #buckets = new Uint32Array(LONGEST_US / BUCKET_US)

  record(milliseconds: number): void {
    const bucket = Math.floor((milliseconds * 1_000) / BUCKET_US)
    const at = Math.min(bucket, this.#buckets.length - 1)
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1
    this.count++
  }

  quantile(share: number): number {
    const target = Math.ceil(this.count * share)
    let seen = 0
    const bucket = this.#buckets.findIndex(bucketCount => {
      seen += bucketCount
      return seen >= target
    })
    return ((bucket + 1) * BUCKET_US) / 1_000
  }
}
