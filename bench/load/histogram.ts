/** Bucket width: 1 % of a latency of 0.5 ms. */
const BUCKET_US = 5
/** Upper end of the histogram: the server's time limit of 10 s. */
const LONGEST_US = 10_000_000

/** Counts latencies in buckets of equal width, so that recording is a single increment. */
export class Histogram {
  count = 0
  #buckets = new Uint32Array(LONGEST_US / BUCKET_US)

  record(milliseconds: number): void {
    const bucket = Math.floor((milliseconds * 1_000) / BUCKET_US)
    const index = Math.min(bucket, this.#buckets.length - 1)
    this.#buckets[index] = (this.#buckets[index] ?? 0) + 1
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
