import type * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { type RefundRow, refundsQuery } from '#lib/charges/refunds/schema.ts'
import { csvTimeFormatter } from '#lib/core/csv.ts'
import { fileLocale } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { csvFile } from '#lib/dashboard/csv-file.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { pageSql, readPage, walkPages } from '#lib/db/page.ts'
import { asJson } from '#lib/db/rows.ts'
import { MESSAGES } from '#messages/words.ts'

export const refundsExportQuery = refundsQuery
  .omit({ limit: true, cursor: true })
  .extend({ locale: fileLocale })

const BATCH_MAX = 2_000

type Row = Omit<RefundRow, 'mode' | 'rejection_reason' | 'updated_at'> & {
  external_id: string
  client_name: string
  end_to_end_id: string | null
}

const columns = asJson(Prisma.sql`
  r.id, r.charge_id AS transaction_id, c.external_id, c.client_name, r.amount, r.status, r.reason,
  ${utc('r.created_at')}, ${utc('r.completed_at')}, ${utc('r.rejected_at')}, r.return_id,
  c.end_to_end_id`)

/** Exports the refunds of all charges, newest first. The period is that of the refunds. */
export async function exportRefunds(
  accountId: string,
  mode: Mode,
  { locale, ...filters }: z.infer<typeof refundsExportQuery>,
) {
  const timeZone = await readTimeZone(accountId)
  const { refundFile: t, refundStatus } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const at = (text: string | null) => text && time(text)
  const read = (cursor?: string) =>
    readPage<Row>(
      Prisma.sql`SELECT ${columns}::text AS json
        FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
        WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode}
          ${pageSql('r', { ...filters, cursor, limit: BATCH_MAX })}`,
      BATCH_MAX,
    )
  return csvFile<Row>(`${t.file}-${dayOf(new Date(), timeZone)}`, {
    locale,
    head: [
      ...[t.reference, t.payer, t.status, t.amount, t.reason, t.created, t.completed, t.rejected],
      ...[t.returnId, t.endToEnd, t.charge, t.id],
    ],
    pages: walkPages(read),
    cellsOf: row => [
      ...[row.external_id, row.client_name, refundStatus[row.status], { amount: row.amount }],
      ...[row.reason, at(row.created_at), at(row.completed_at), at(row.rejected_at)],
      ...[row.return_id, row.end_to_end_id, row.transaction_id, row.id],
    ],
  })
}
