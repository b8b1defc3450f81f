import { type ChargesQuery, chargesQuery } from '#lib/rooms/charges/wire.ts'
import { readSpan } from '#lib/views/dashboard/period.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'

const TEXT_FILTERS = ['status', 'q', 'amount_from', 'amount_to', 'cursor'] as const

export interface ParsedChargeFilters {
  apiParams: Record<string, string>
  query: ChargesQuery
}

/** Reads the filters of a page's URL, with days in the merchant's zone. Drops invalid values. */
export function readChargeFilters(
  params: SearchParams,
  timeZone: string,
  limit: number,
): ParsedChargeFilters {
  const { from, to } = readSpan(params, timeZone)
  const apiParams: Record<string, string> = { limit: String(limit) }
  for (const name of TEXT_FILTERS) {
    const value = params[name]
    if (typeof value !== 'string' || value === '') continue
    // PostgreSQL stores neither NUL nor unpaired surrogates.
    if (value.includes('\0') || !value.isWellFormed()) continue
    if (chargesQuery.shape[name].safeParse(value).success) apiParams[name] = value
  }
  if (from) apiParams.created_from = from.toISOString()
  if (to) apiParams.created_to = to.toISOString()
  return { apiParams, query: chargesQuery.parse(apiParams) }
}
