import * as z from 'zod'
import { actionMessageKey } from '#lib/base/audit/actions.ts'
import { type AuditReader, walkAudit } from '#lib/base/audit/queries.ts'
import type { AuditLine } from '#lib/base/audit/schema.ts'
import { auditFilters, type StaffAuditFilters, staffAuditFilters } from '#lib/base/audit/schema.ts'
import { CSV_BOM, csvLine, csvTimeFormatter } from '#lib/base/csv.ts'
import { must } from '#lib/base/fields.ts'
import { LOCALES, type Locale } from '#lib/base/locale.ts'
import { readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { dayOf } from '#lib/views/dashboard/period.ts'
import { recordExport } from '#lib/views/dashboard/record-export.ts'
import { EXPORT_END } from '#lib/views/dashboard/schema.ts'
import { MESSAGES } from '#messages/words.ts'

const locale = z.enum(LOCALES, must(`be one of ${LOCALES.join(', ')}`))

export const auditExportQuery = auditFilters.extend({ locale })
export const staffAuditExportQuery = staffAuditFilters.extend({ locale })

const BATCH_MAX = 2_000
/** Time zone of the staff's export, because staff belong to no account. */
const STAFF_TIME_ZONE = 'America/Sao_Paulo'

export async function exportAudit(
  reader: AuditReader,
  userId: string,
  { locale, ...filters }: StaffAuditFilters & { locale: Locale },
) {
  const accountId = reader.staff ? filters.account : reader.accountId
  const timeZone = reader.staff ? STAFF_TIME_ZONE : await readTimeZone(reader.accountId)
  await recordExport('audit.exported', userId, accountId, filters)
  const name = `${MESSAGES[locale].audit.file}-${dayOf(new Date(), timeZone)}`
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    chunks: writeCsv(walkAudit(reader, filters, BATCH_MAX), locale, timeZone),
  }
}

async function* writeCsv(
  pages: AsyncIterable<AuditLine[]>,
  locale: Locale,
  timeZone: string,
): AsyncGenerator<string> {
  const { audit: t, auditAction, auditActor } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const actor = [t.actor, t.email]
  const change = [t.reason, t.before, t.after]
  const head = [t.when, t.action, ...actor, t.account, t.target, ...change, t.ip, t.request, t.code]
  yield CSV_BOM + csvLine([...head, t.id], locale)
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    const lines = rows.map(row => {
      const messageKey = actionMessageKey(row.action)
      const { kind, name, email } = row.actor
      return csvLine(
        [
          ...[time(row.created_at), messageKey ? auditAction[messageKey] : row.action],
          ...[
            toOneLine(name ?? auditActor[kind]),
            toOneLine(email),
            toOneLine(row.account?.name ?? null),
          ],
          ...[row.target, toOneLine(row.reason), valuesText(row.before), valuesText(row.after)],
          ...[row.ip, row.request_id, row.action, row.id],
        ],
        locale,
      )
    })
    yield lines.join('')
  }
  yield `${EXPORT_END}${count}`
}

/** Puts text on one line, so that each line of the file is one row and can be counted. */
function toOneLine(text: string | null): string | null {
  return text?.replace(/[\r\n]+/g, ' ') ?? null
}

function valuesText(values: AuditLine['before']): string | null {
  const pairs = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${[value].flat()}`)
  return pairs.length > 0 ? toOneLine(pairs.join(' · ')) : null
}
