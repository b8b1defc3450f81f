import type * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { readCharges } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import type { SearchScope } from '#lib/charges/search.ts'
import { rowFiltersOf, shownChargeFilters } from '#lib/charges/shown-query.ts'
import { shownStatusOf } from '#lib/charges/states.ts'
import { csvTimeFormatter } from '#lib/core/csv.ts'
import { fileLocale } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { csvFile } from '#lib/dashboard/csv-file.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { walkPages } from '#lib/db/page.ts'
import { MESSAGES } from '#messages/words.ts'

export const chargesExportQuery = shownChargeFilters.extend({ locale: fileLocale })

/** Rows per query: enough to repeat the search rarely, few enough for memory. */
const BATCH_MAX = 2_000

const columns = Prisma.sql`
  c.id, c.external_id, c.status, c.amount, c.refunded_amount, c.client_name, c.client_email,
  c.client_doc, ${utc('c.created_at')}, ${utc('c.paid_at')}, ${utc('c.expires_at')},
  ${utc('c.cancelled_at')}, c.end_to_end_id,
  c.payer_name, c.payer_doc, c.payer_bank`
type Row = Omit<ChargeRow, 'br_code' | 'metadata' | 'items' | 'utms'> & {
  payer_name: string | null
  payer_doc: string | null
  payer_bank: string | null
}

export async function exportCharges(
  accountId: string,
  mode: Mode,
  { locale, ...filters }: z.infer<typeof chargesExportQuery> & SearchScope,
) {
  const timeZone = await readTimeZone(accountId)
  const { charges: t, chargeFile, chargeStatus } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const rowFilters = rowFiltersOf(filters)
  const at = (text: string | null) => text && time(text)
  const payer = [t.payer, chargeFile.email, chargeFile.document]
  const paidBy = [chargeFile.payerName, chargeFile.payerDocument, chargeFile.payerBank]
  const times = [chargeFile.created, chargeFile.paid, chargeFile.expires]
  const head = [t.reference, t.status, t.amount, chargeFile.refunded, ...payer, ...times]
  return csvFile<Row>(`${chargeFile.file}-${dayOf(new Date(), timeZone)}`, {
    locale,
    head: [...head, chargeFile.endToEnd, chargeFile.id, ...paidBy],
    pages: walkPages(cursor =>
      readCharges<Row>(columns, accountId, mode, { ...rowFilters, cursor, limit: BATCH_MAX }),
    ),
    cellsOf: row => [
      ...[row.external_id, chargeStatus[shownStatusOf(row)]],
      ...[{ amount: row.amount }, { amount: row.refunded_amount }],
      ...[row.client_name, row.client_email, maskTaxId(row.client_doc)],
      ...[at(row.created_at), at(row.paid_at), at(row.expires_at)],
      ...[row.end_to_end_id, row.id],
      ...[row.payer_name, row.payer_doc, row.payer_bank],
    ],
  })
}
