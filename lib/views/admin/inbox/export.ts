import { CSV_BOM, csvLine, csvTimeFormatter } from '#lib/base/csv.ts'
import type { Locale } from '#lib/base/locale.ts'
import { walkItems } from '#lib/views/admin/inbox/list.ts'
import type { InboxFilters, InboxLine } from '#lib/views/admin/inbox/schema.ts'
import { recordExport } from '#lib/views/dashboard/record-export.ts'
import { EXPORT_END } from '#lib/views/dashboard/schema.ts'
import { MESSAGES } from '#messages/words.ts'

/** Staff belong to no account and its time zone. */
const TIME_ZONE = 'America/Sao_Paulo'

export async function exportInbox(
  userId: string,
  { locale, ...filters }: InboxFilters & { locale: Locale },
) {
  await recordExport('inbox.exported', userId, undefined, { ...filters, status: filters.state })
  const day = csvTimeFormatter('en', TIME_ZONE)(new Date().toISOString()).slice(0, 10)
  const name = `${MESSAGES[locale].inbox.file}-${day}`
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    chunks: writeCsv(walkItems(filters), locale),
  }
}

async function* writeCsv(
  pages: AsyncIterable<InboxLine[]>,
  locale: Locale,
): AsyncGenerator<string> {
  const { inbox: t } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, TIME_ZONE)
  const about = [t.column.what, t.column.connection, t.column.mode, t.column.amount]
  const ended = [t.column.resolved, t.column.resolution]
  const head = [t.column.created, ...about, ...ended, t.column.code, 'ID']
  yield CSV_BOM + csvLine(head, locale)
  const nameOf = (names: Record<string, string>, key: string) => names[key] ?? key
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    const lines = rows.map(row =>
      csvLine(
        [
          ...[
            time(row.created_at),
            nameOf(t.kind, row.kind),
            row.connection.name,
            t.mode[row.mode],
          ],
          row.amount === null ? null : { amount: row.amount },
          row.resolved_at && time(row.resolved_at),
          row.resolution && nameOf(t.resolution, row.resolution),
          ...[row.kind, row.id],
        ],
        locale,
      ),
    )
    yield lines.join('')
  }
  yield `${EXPORT_END}${count}`
}
