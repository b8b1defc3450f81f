/**
 * Upper bounds of the histogram of response times, in milliseconds; one more class counts slower
 * ones. Stored rows have one number per class, so bounds may only be added at the end.
 */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000, 1_500,
  2_000, 3_000, 5_000, 10_000,
]

export function latencyClassOf(tookMs: number): number {
  const nth = LATENCY_BOUNDS_MS.findIndex(bound => tookMs <= bound)
  return nth === -1 ? LATENCY_BOUNDS_MS.length : nth
}

/** Returns the time within which this part of the responses was sent; null without responses. */
export function percentileOf(counts: readonly number[], part: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = part * total
  let seen = 0
  for (const [nth, count] of counts.entries()) {
    if (seen + count >= rank && count > 0) {
      const from = LATENCY_BOUNDS_MS[nth - 1] ?? 0
      const to = LATENCY_BOUNDS_MS[nth] ?? from
      return from + ((to - from) * (rank - seen)) / count
    }
    seen += count
  }
  return null
}
