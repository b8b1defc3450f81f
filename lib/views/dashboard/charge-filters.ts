import { type ChargesQuery, chargesQuery } from '#lib/rooms/charges/wire.ts'
import { readSpan } from '#lib/views/dashboard/period.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'

const PLAIN = ['status', 'q', 'amount_from', 'amount_to', 'cursor'] as const

/** How the list is asked for, as the API takes it, and the same as it is read. */
export interface ChargesAsked {
  asked: Record<string, string>
  query: ChargesQuery
}

/** What a page's address says of the list, days by the merchant's clock; what means nothing is left out. */
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
    // The database takes neither.
    if (value.includes('\0') || !value.isWellFormed()) continue
    if (chargesQuery.shape[name].safeParse(value).success) asked[name] = value
  }
  if (from) asked.created_from = from.toISOString()
  if (to) asked.created_to = to.toISOString()
  return { asked, query: chargesQuery.parse(asked) }
}
