import type * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { csvTimeFormatter } from '#lib/core/csv.ts'
import { fileLocale, listQuery } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey, type PixKeyType } from '#lib/core/pix/pix-key.ts'
import { csvFile } from '#lib/dashboard/csv-file.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { pageSql, readPage, walkPages } from '#lib/db/page.ts'
import { asJson } from '#lib/db/rows.ts'
import { withdrawalMatches } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import { MESSAGES } from '#messages/words.ts'

export const withdrawalsExportQuery = listQuery(WITHDRAWAL_STATUSES)
  .omit({ limit: true, cursor: true })
  .extend({ locale: fileLocale })

const BATCH_MAX = 2_000

type Row = Omit<WithdrawalRow, 'pix_key' | 'webhook_url'> & {
  dict_key: string
  payee_name: string | null
  payee_bank: string | null
  pix_key_type: PixKeyType
}

const columns = asJson(Prisma.sql`
  w.id, w.external_id, w.status, w.amount, w.returned_amount, w.pix_key_type, w.dict_key,
  w.payee_name, w.payee_bank, ${utc('w.created_at')}, ${utc('w.approved_at')},
  ${utc('w.rejected_at')}, w.end_to_end_id`)

/** Exports the matching withdrawals, newest first, with masked keys as in the list. */
export async function exportWithdrawals(
  accountId: string,
  mode: Mode,
  { locale, ...filters }: z.infer<typeof withdrawalsExportQuery>,
) {
  const timeZone = await readTimeZone(accountId)
  const { withdrawalFile: t, withdrawalStatus, pixKey } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, timeZone)
  const at = (text: string | null) => text && time(text)
  const found = filters.q ? Prisma.sql`AND ${withdrawalMatches(filters.q)}` : Prisma.empty
  const read = (cursor?: string) =>
    readPage<Row>(
      Prisma.sql`SELECT ${columns}::text AS json FROM withdrawals w
        WHERE w.account_id = ${accountId}::uuid AND w.mode = ${mode} ${found}
          ${pageSql('w', { ...filters, cursor, limit: BATCH_MAX })}`,
      BATCH_MAX,
    )
  const key = [t.keyType, t.key, t.payee, t.bank]
  return csvFile<Row>(`${t.file}-${dayOf(new Date(), timeZone)}`, {
    locale,
    head: [
      ...[t.reference, t.status, t.amount, t.returned, ...key],
      ...[t.created, t.approved, t.rejected, t.endToEnd, t.id],
    ],
    pages: walkPages(read),
    cellsOf: row => [
      ...[row.external_id, withdrawalStatus[row.status]],
      ...[{ amount: row.amount }, { amount: row.returned_amount }],
      ...[pixKey[row.pix_key_type], maskPixKey(row.pix_key_type, row.dict_key)],
      ...[row.payee_name, row.payee_bank],
      ...[at(row.created_at), at(row.approved_at), at(row.rejected_at)],
      ...[row.end_to_end_id, row.id],
    ],
  })
}
