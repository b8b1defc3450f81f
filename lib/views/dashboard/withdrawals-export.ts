import type * as z from 'zod'
import { csvTimeFormatter } from '#lib/base/csv.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { pageSql, readPage, walkPages } from '#lib/base/db/page.ts'
import { asJson } from '#lib/base/db/rows.ts'
import { fileLocale, listQuery } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import { maskPixKey, type PixKeyType } from '#lib/base/pix/pix-key.ts'
import { readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { withdrawalMatches } from '#lib/rooms/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/rooms/withdrawals/states.ts'
import { csvFile } from '#lib/views/dashboard/csv-file.ts'
import { dayOf } from '#lib/views/dashboard/period.ts'
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
