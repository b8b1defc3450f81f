import { type ChargesQuery, chargesQuery } from '#lib/rooms/charges/wire.ts'
import { readSpan } from '#lib/views/dashboard/period.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'

const PLAIN = ['status', 'q', 'amount_from', 'amount_to', 'cursor'] as const

export interface ChargesAsked {
  asked: Record<string, string>
  query: ChargesQuery
}

/**
 * Reads the list's filters from a page's URL, days in the merchant's time zone; drops invalid ones.
 */
export function readChargesAsked(
  params: SearchParams,
  timeZone: string,
  limit: number,
): ChargesAsked {
  const { from, to } = readSpan(params, timeZone)
  const asked: Record<string, string> = { limit: String(limit) }
  for (const name of PLAIN) {
    const value = params[name]
    if (typeof value !== 'string' || value === '') continue
    // PostgreSQL stores neither NUL nor unpaired surrogates.
    if (value.includes('\0') || !value.isWellFormed()) continue
    if (chargesQuery.shape[name].safeParse(value).success) asked[name] = value
  }
  if (from) asked.created_from = from.toISOString()
  if (to) asked.created_to = to.toISOString()
  return { asked, query: chargesQuery.parse(asked) }
}
