/** Header with the client's IP address. The front sets it and discards a value from the client. */
export const ADDRESS_HEADER = 'x-troco-address'
/** Request id: a well-formed value from the client, otherwise a new one from the front. */
export const REQUEST_ID_HEADER = 'x-request-id'

/** Template of an API path, which Next does not pass to its handlers. The front sets it. */
export const ROUTE_HEADER = 'x-troco-route'

/** Amount in cents that a member confirmed in the review of a charge. */
export const REVIEWED_AMOUNT_HEADER = 'troco-reviewed-amount'

/** Path and query as they were sent. The front sets it: Next passes none to pages, and another to handlers. */
export const PATH_HEADER = 'x-troco-path'

const PAUSE_MAX_MS = 60 * 60_000

/** Parses Retry-After, seconds or a date, to a pause of at most 1 h; null if it is neither. */
export function parseRetryAfter(header: string | undefined): number | null {
  const value = header?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, PAUSE_MAX_MS)
  const at = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.min(Math.max(at - Date.now(), 0), PAUSE_MAX_MS)
}
