import { readTimeZone } from '#lib/accounts/queries.ts'
import { actionMessageKey } from '#lib/audit/actions.ts'
import { type AuditReader, walkAudit } from '#lib/audit/queries.ts'
import {
  type AuditLine,
  auditFilters,
  type StaffAuditFilters,
  staffAuditFilters,
} from '#lib/audit/schema.ts'
import { fileLocale } from '#lib/core/fields.ts'
import { HOME_TIME_ZONE, type Locale } from '#lib/core/locale.ts'
import { csvFile, csvTimeFormatter, recordExport } from '#lib/dashboard/exports.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import { MESSAGES } from '#messages/words.ts'

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
