import * as z from 'zod'
import { type ShownChargesQuery, shownChargesQuery } from '#lib/charges/list.ts'
import { listQuery } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { readSpan } from '#lib/dashboard/period.ts'
import { requestsQuery } from '#lib/dashboard/requests/schema.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'

/** Reads the parameters of a page's URL that their schemas accept; drops the others. */
export function readUrlFilters<
  Shape extends z.ZodRawShape,
  const Name extends keyof Shape & string,
>(
  params: SearchParams,
  names: readonly Name[],
  shape: Shape,
): { [Key in Name]?: z.input<Shape[Key]> } {
  const filters: Partial<Record<Name, unknown>> = {}
  for (const name of names) {
    const value = params[name]
    if (typeof value !== 'string' || value === '') continue
    // PostgreSQL stores neither NUL nor unpaired surrogates.
    if (value.includes('\0') || !value.isWellFormed()) continue
    if (z.safeParse(shape[name] as z.core.$ZodType, value).success) filters[name] = value
  }
  return filters as { [Key in Name]?: z.input<Shape[Key]> }
}

const TEXT_FILTERS = ['status', 'q', 'min_amount', 'max_amount', 'cursor'] as const

interface ParsedChargeFilters {
  apiParams: z.input<typeof shownChargesQuery>
  query: ShownChargesQuery
}

/** Reads the filters of a page's URL, with days in the merchant's zone. Drops invalid values. */
export function readChargeFilters(
  params: SearchParams,
  timeZone: string,
  limit: number,
): ParsedChargeFilters {
  const { from, to } = readSpan(params, timeZone)
  const apiParams: ParsedChargeFilters['apiParams'] = {
    limit: String(limit),
    ...readUrlFilters(params, TEXT_FILTERS, shownChargesQuery.shape),
  }
  if (from) apiParams.created_from = from.toISOString()
  if (to) apiParams.created_to = to.toISOString()
  return { apiParams, query: shownChargesQuery.parse(apiParams) }
}

const withdrawalsQuery = listQuery(WITHDRAWAL_STATUSES)

/** Reads the filters of a page of withdrawals like those of a page of charges. */
export function readWithdrawalFilters(params: SearchParams, timeZone: string) {
  const { from, to } = readSpan(params, timeZone)
  const apiParams: z.input<typeof withdrawalsQuery> = readUrlFilters(
    params,
    ['status', 'q', 'cursor'],
    withdrawalsQuery.shape,
  )
  if (from) apiParams.created_from = from.toISOString()
  if (to) apiParams.created_to = to.toISOString()
  return { apiParams, query: withdrawalsQuery.parse(apiParams) }
}

const REQUEST_FILTERS = ['status', 'method', 'path', 'token_id', 'code', 'cursor'] as const

export function readRequestFilters(params: SearchParams, timeZone: string) {
  const { from, to } = readSpan(params, timeZone)
  const apiParams: z.input<typeof requestsQuery> = readUrlFilters(
    params,
    REQUEST_FILTERS,
    requestsQuery.shape,
  )
  if (from) apiParams.created_from = from.toISOString()
  if (to) apiParams.created_to = to.toISOString()
  return { apiParams, query: requestsQuery.parse(apiParams) }
}

/** Reads the filters of an admin list from a page's URL; invalid values are dropped. */
export function readListFilters<const Status extends string>(
  params: Record<string, string | string[] | undefined>,
  statuses: readonly Status[],
): { q?: string; status?: Status; cursor?: string } {
  const { q, cursor } = params
  const status = statuses.find(known => known === params.status)
  return {
    ...(isText(q) ? { q: q.trim() } : {}),
    ...(status ? { status } : {}),
    ...(typeof cursor === 'string' && isUuid(cursor) ? { cursor } : {}),
  }
}

/** PostgreSQL stores neither NUL nor unpaired surrogates. */
function isText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= 255 &&
    value.isWellFormed() &&
    !value.includes('\0')
  )
}
