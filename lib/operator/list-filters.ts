import { isUuid } from '#lib/core/ids.ts'

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
