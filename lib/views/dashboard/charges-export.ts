import * as z from 'zod'
import { CSV_BOM, csvLine, csvTimeFormatter } from '#lib/base/csv.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { must } from '#lib/base/fields.ts'
import { LOCALES } from '#lib/base/locale.ts'
import type { Mode } from '#lib/base/mode.ts'
import { maskTaxId } from '#lib/base/pix/tax-id.ts'
import { readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { readCharges } from '#lib/rooms/charges/queries.ts'
import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import type { SearchScope } from '#lib/rooms/charges/search.ts'
import { type ChargeFilters, chargeFilters } from '#lib/rooms/charges/wire.ts'
import { dayOf } from '#lib/views/dashboard/period.ts'
import { EXPORT_END } from '#lib/views/dashboard/schema.ts'
import { MESSAGES } from '#messages/words.ts'

export const chargesExportQuery = chargeFilters.extend({
  locale: z.enum(LOCALES, must(`be one of ${LOCALES.join(', ')}`)),
})

/** Rows per query: enough to repeat the search rarely, few enough for memory. */
const BATCH_MAX = 2_000

const columns = Prisma.sql`
  c.id, c.external_id, c.status, c.amount, c.refunded_amount, c.client_name, c.client_email,
  c.client_doc, ${utc('c.created_at')}, ${utc('c.paid_at')}, ${utc('c.expires_at')}, c.end_to_end_id`
type Row = Omit<ChargeRow, 'br_code' | 'metadata' | 'items' | 'utms'>

export async function exportCharges(
  accountId: string,
  mode: Mode,
  { locale, ...filters }: z.infer<typeof chargesExportQuery> & SearchScope,
) {
  const timeZone = await readTimeZone(accountId)
  const { charges: t } = MESSAGES[locale]
  const name = `${t.file}-${dayOf(new Date(), timeZone)}`
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    chunks: writeCsv(walkCharges(accountId, mode, filters), locale, timeZone),
  }
}

async function* walkCharges(accountId: string, mode: Mode, filters: ChargeFilters & SearchScope) {
  let cursor: string | undefined
  do {
    const page = await readCharges<Row>(columns, accountId, mode, {
      ...{ ...filters, cursor },
      limit: BATCH_MAX,
    })
    yield page.rows
    cursor = page.nextCursor ?? undefined
  } while (cursor)
}

async function* writeCsv(
  pages: AsyncIterable<Row[]>,
  locale: keyof typeof MESSAGES,
  timeZone: string,
): AsyncGenerator<string> {
  const { charges: t, chargeStatus } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const at = (text: string | null) => text && time(text)
  const payer = [t.payer, t.column.email, t.column.document]
  const times = [t.column.created, t.column.paid, t.column.expires]
  const head = [t.reference, t.status, t.amount, t.column.refunded, ...payer, ...times]
  yield CSV_BOM + csvLine([...head, t.column.endToEnd, t.column.id], locale)
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    const lines = rows.map(row =>
      csvLine(
        [
          ...[toOneLine(row.external_id), chargeStatus[row.status]],
          ...[{ amount: row.amount }, { amount: row.refunded_amount }],
          ...[toOneLine(row.client_name), toOneLine(row.client_email), maskTaxId(row.client_doc)],
          ...[at(row.created_at), at(row.paid_at), at(row.expires_at)],
          ...[row.end_to_end_id, row.id],
        ],
        locale,
      ),
    )
    yield lines.join('')
  }
  yield `${EXPORT_END}${count}`
}

/** Puts text on one line, so that each line of the file is one row and can be counted. */
function toOneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ')
}
