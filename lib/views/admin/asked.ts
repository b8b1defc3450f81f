import { isUuid } from '#lib/base/ids.ts'

/** What a page's address asks of a list of the operator's; what means nothing is left out. */
export function readListAsked<const Status extends string>(
  given: Record<string, string | string[] | undefined>,
  statuses: readonly Status[],
): { q?: string; status?: Status; cursor?: string } {
  const { q, cursor } = given
  const status = statuses.find(known => known === given.status)
  return {
    ...(isText(q) ? { q: q.trim() } : {}),
    ...(status ? { status } : {}),
    ...(typeof cursor === 'string' && isUuid(cursor) ? { cursor } : {}),
  }
}

/** The database takes neither a NUL nor half of a character. */
function isText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= 255 &&
    value.isWellFormed() &&
    !value.includes('\0')
  )
}
