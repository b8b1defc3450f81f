import { csvTimeFormatter } from '#lib/core/csv.ts'
import type { Locale } from '#lib/core/locale.ts'
import { HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { csvFile, recordExport } from '#lib/dashboard/exports.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import { walkPages } from '#lib/db/page.ts'
import { listItems } from '#lib/operator/differences/list.ts'
import type { DifferenceFilters, DifferenceLine } from '#lib/operator/differences/schema.ts'
import { MESSAGES } from '#messages/words.ts'

const BATCH_MAX = 500

export async function exportDifferences(
  userId: string,
  { locale, ...filters }: DifferenceFilters & { locale: Locale },
) {
  await recordExport('difference.exported', userId, undefined, {
    ...filters,
    status: filters.state,
  })
  const { differences: t } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, HOME_TIME_ZONE)
  const nameOf = (names: Record<string, string>, key: string) => names[key] ?? key
  const about = [t.column.what, t.column.connection, t.column.mode, t.column.amount]
  const ended = [t.column.resolved, t.column.resolution]
  return csvFile<DifferenceLine>(`${t.file}-${dayOf(new Date(), HOME_TIME_ZONE)}`, {
    locale,
    head: [t.column.created, ...about, ...ended, t.column.code, 'ID'],
    pages: walkPages(cursor => listItems({ ...filters, cursor, limit: BATCH_MAX })),
    cellsOf: row => [
      ...[
        time(row.created_at),
        nameOf(t.kind, row.kind),
        nameOf({ simulator: t.simulator }, row.connection.name),
        t.mode[row.mode],
      ],
      row.amount === null ? null : { amount: row.amount },
      row.resolved_at && time(row.resolved_at),
      row.resolution && nameOf(t.resolution, row.resolution),
      ...[row.kind, row.id],
    ],
  })
}
