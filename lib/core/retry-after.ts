const PAUSE_MAX_MS = 60 * 60_000

/** Parses Retry-After, seconds or a date, to a pause of at most 1 h; null if it is neither. */
export function parseRetryAfter(header: string | undefined): number | null {
  const value = header?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, PAUSE_MAX_MS)
  const at = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.min(Math.max(at - Date.now(), 0), PAUSE_MAX_MS)
}
