import * as z from 'zod'
import { isUuid } from '#lib/core/ids.ts'
import { readSpan } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'

/** Parameters that a page sets itself: the limit, and the days of a period in the reader's zone. */
const OWN_PARAMETERS = ['limit', 'created_from', 'created_to']

/** The query of a list's endpoint as a page's URL sets it. */
export interface ListFilters<Query extends z.ZodObject> {
  /** As the client sends it. */
  apiParams: z.input<Query>
  /** The same without limit and cursor. */
  filters: Omit<z.input<Query>, 'limit' | 'cursor'>
  /** As the operation takes it. */
  query: z.output<Query>
}

/**
 * Reads each parameter of the endpoint from a page's URL, and the period with days in a time zone. Drops
 * invalid values.
 */
export function readFilters<Query extends z.ZodObject>(
  params: SearchParams,
  schema: Query,
  timeZone: string,
  limit?: number,
): ListFilters<Query> {
  const { from, to } = readSpan(params, timeZone)
  const apiParams = {
    ...readValid(params, schema.shape),
    ...(limit !== undefined && { limit: `${limit}` }),
    ...(from && { created_from: from.toISOString() }),
    ...(to && { created_to: to.toISOString() }),
  }
  const { limit: _, cursor, ...filters } = apiParams as Record<string, unknown>
  return { apiParams, filters, query: schema.parse(apiParams) } as ListFilters<Query>
}

/** Drops what a schema refuses, and what PostgreSQL does not store: NUL and unpaired surrogates. */
function readValid(params: SearchParams, shape: z.ZodRawShape): Record<string, string> {
  const valid: Record<string, string> = {}
  for (const [name, schema] of Object.entries(shape)) {
    const value = params[name]
    if (OWN_PARAMETERS.includes(name) || typeof value !== 'string' || value === '') continue
    if (value.includes('\0') || !value.isWellFormed()) continue
    if (z.safeParse(schema, value).success) valid[name] = value
  }
  return valid
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
