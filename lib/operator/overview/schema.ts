/** Spans of the overview, each with the width of a bar in hours. */
export const SPANS = {
  '24h': { hours: 24, intervalHours: 1 },
  '7d': { hours: 7 * 24, intervalHours: 6 },
  '30d': { hours: 30 * 24, intervalHours: 24 },
} as const
export type SpanName = keyof typeof SPANS
export const SPAN_NAMES = Object.keys(SPANS) as SpanName[]

/** What happened from `at` until the next interval. Amounts in cents, times in milliseconds. */
export interface OverviewInterval {
  at: string
  paid_amount: number
  paid_count: number
  created: number
  /** How many of those created have been paid by now. */
  converted: number
  requests: number
  /** Responses with a status from 400 to 499, except 429. */
  refused: number
  limited: number
  failed: number
  p50: number | null
  p99: number | null
}

export interface Overview {
  intervals: OverviewInterval[]
  total: Omit<OverviewInterval, 'at'>
}
