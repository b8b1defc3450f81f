import { type AuditFilters, type StaffAuditFilters, staffAuditFilters } from '#lib/audit/schema.ts'
import { isUuid } from '#lib/core/ids.ts'
import { readSpan } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readUrlFilters } from '#lib/dashboard/url-filters.ts'

const MEMBER_FILTERS = ['action', 'actor', 'target', 'q'] as const
const STAFF_FILTERS = [...MEMBER_FILTERS, 'account'] as const

/** `apiParams`: API parameters. `filters`: the same without limit and cursor. `query`: parsed. */
export interface ParsedAuditFilters {
  apiParams: Record<string, string>
  filters: Record<string, string>
  query: (AuditFilters | StaffAuditFilters) & { cursor?: string; limit: number }
}

/** Reads the audit filters from a page's URL, with days in this time zone. Drops invalid values. */
export function readAuditFilters(
  params: SearchParams,
  timeZone: string,
  options: { limit: number; isStaff: boolean },
): ParsedAuditFilters {
  const { limit, isStaff } = options
  const names = isStaff ? STAFF_FILTERS : MEMBER_FILTERS
  const filters: Record<string, string> = readUrlFilters(params, names, staffAuditFilters.shape)
  const { from, to } = readSpan(params, timeZone)
  if (from) filters.created_from = from.toISOString()
  if (to) filters.created_to = to.toISOString()
  const { cursor } = params
  const apiParams: Record<string, string> = { ...filters, limit: String(limit) }
  if (typeof cursor === 'string' && isUuid(cursor)) apiParams.cursor = cursor
  const query = { ...staffAuditFilters.parse(filters), cursor: apiParams.cursor, limit }
  return { apiParams, filters, query }
}
