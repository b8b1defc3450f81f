import type * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { actionMessageKey } from '#lib/audit/actions.ts'
import { type AuditReader, walkAudit } from '#lib/audit/queries.ts'
import {
  type AuditFilters,
  type AuditLine,
  auditFilters,
  type StaffAuditFilters,
  staffAuditFilters,
  type staffAuditQuery,
} from '#lib/audit/schema.ts'
import { csvTimeFormatter } from '#lib/core/csv.ts'
import { fileLocale } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { HOME_TIME_ZONE, type Locale } from '#lib/core/locale.ts'
import { csvFile, recordExport } from '#lib/dashboard/exports.ts'
import { dayInZone, readSpan } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readUrlFilters } from '#lib/dashboard/url-filters.ts'
import { MESSAGES } from '#messages/words.ts'

const MEMBER_FILTERS = ['action', 'actor', 'target', 'q'] as const
const STAFF_FILTERS = [...MEMBER_FILTERS, 'account'] as const

/** `apiParams`: API parameters. `filters`: the same without limit and cursor. `query`: parsed. */
interface ParsedAuditFilters {
  apiParams: z.input<typeof staffAuditQuery>
  filters: z.input<typeof staffAuditFilters>
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
  const filters: ParsedAuditFilters['filters'] = readUrlFilters(
    params,
    names,
    staffAuditFilters.shape,
  )
  const { from, to } = readSpan(params, timeZone)
  if (from) filters.created_from = from.toISOString()
  if (to) filters.created_to = to.toISOString()
  const { cursor } = params
  const apiParams: ParsedAuditFilters['apiParams'] = { ...filters, limit: String(limit) }
  if (typeof cursor === 'string' && isUuid(cursor)) apiParams.cursor = cursor
  const query = { ...staffAuditFilters.parse(filters), cursor: apiParams.cursor, limit }
  return { apiParams, filters, query }
}

export const auditExportQuery = auditFilters.extend({ locale: fileLocale })
export const staffAuditExportQuery = staffAuditFilters.extend({ locale: fileLocale })

const BATCH_MAX = 500

export async function exportAudit(
  reader: AuditReader,
  userId: string,
  { locale, ...filters }: StaffAuditFilters & { locale: Locale },
) {
  const accountId = reader.staff ? filters.account : reader.accountId
  const timeZone = reader.staff ? HOME_TIME_ZONE : await readTimeZone(reader.accountId)
  await recordExport('audit.exported', userId, accountId, filters)
  const { audit: t, auditAction, auditActor } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const actor = [t.actor, t.email]
  const change = [t.reason, t.before, t.after]
  const head = [t.when, t.action, ...actor, t.account, t.target, ...change, t.ip, t.request, t.code]
  return csvFile<AuditLine>(`${t.file}-${dayInZone(new Date(), timeZone)}`, {
    locale,
    head: [...head, t.id],
    pages: walkAudit(reader, filters, BATCH_MAX),
    cellsOf: row => {
      const messageKey = actionMessageKey(row.action)
      const { kind, name, email } = row.actor
      return [
        time(row.created_at),
        messageKey ? auditAction[messageKey] : row.action,
        name ?? auditActor[kind],
        email,
        row.account?.name ?? null,
        row.target,
        row.reason,
        valuesText(row.before),
        valuesText(row.after),
        row.ip,
        row.request_id,
        row.action,
        row.id,
      ]
    },
  })
}

function valuesText(values: AuditLine['before']): string | null {
  const pairs = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${[value].flat()}`)
  return pairs.length > 0 ? pairs.join(' · ') : null
}
