import type * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import type { Action } from '#lib/audit/actions.ts'
import { recordAudit, requireActor } from '#lib/audit/record.ts'
import { readCharges, rowFiltersOf, shownChargeFilters } from '#lib/charges/list.ts'
import { type RefundRow, refundsQuery } from '#lib/charges/refunds/schema.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import type { SearchScope } from '#lib/charges/search.ts'
import { shownStatusOf } from '#lib/charges/states.ts'
import { fileLocale, listQuery } from '#lib/core/fields.ts'
import type { Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { describeBank } from '#lib/core/pix/participants.ts'
import { maskPixKey, type PixKeyType } from '#lib/core/pix/pix-key.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import { EXPORT_END } from '#lib/dashboard/schema.ts'
import { Prisma, transaction } from '#lib/db/client.ts'
import { pageSql, readPage, walkPages } from '#lib/db/page.ts'
import { asJson, utc } from '#lib/db/sql.ts'
import { withdrawalMatches } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import { MESSAGES } from '#messages/words.ts'

/** Other filters are not stored: some, such as the search text, may contain a payer's data. */
const STORED_FILTERS = [
  'status',
  'min_amount',
  'max_amount',
  'created_from',
  'created_to',
  'action',
  'period',
  'from',
  'to',
  'format',
  'mode',
  'kind',
  'connection',
  'age',
]

/** Records an export of payers' data in the audit log before the first byte is sent. */
export function recordExport(
  action: Action & `${string}.exported`,
  userId: string | null,
  accountId: string | undefined,
  filters: Record<string, unknown>,
  target?: string,
): Promise<void> {
  const stored = STORED_FILTERS.filter(name => filters[name] !== undefined)
  const after = Object.fromEntries(stored.map(name => [name, String(filters[name])]))
  return transaction(tx =>
    recordAudit(tx, { actor: requireActor(userId), action, accountId, target, after }),
  )
}

interface CsvFile<Row> {
  locale: Locale
  head: string[]
  pages: AsyncIterable<Row[]>
  cellsOf: (row: Row) => CsvCell[]
}

/** Makes the response of an export, which ends with the number of its rows. */
export function csvFile<Row>(name: string, file: CsvFile<Row>) {
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    chunks: writeRows(file),
  }
}

async function* writeRows<Row>({ locale, head, pages, cellsOf }: CsvFile<Row>) {
  yield CSV_BOM + csvLine(head, locale)
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    yield rows.map(row => csvLine(cellsOf(row), locale)).join('')
  }
  yield `${EXPORT_END}${count}`
}

export const chargesExportQuery = shownChargeFilters.extend({ locale: fileLocale })

/** Rows per query: about as many as a page of 256 KiB has. */
const BATCH_MAX = 500

const chargeColumns = Prisma.sql`
  c.id, c.external_id, c.status, c.amount, c.refunded_amount, c.client_name, c.client_email,
  c.client_doc, ${utc('c.created_at')}, ${utc('c.paid_at')}, ${utc('c.expires_at')},
  ${utc('c.cancelled_at')}, c.end_to_end_id,
  c.payer_name, c.payer_doc, c.payer_bank`
type ExportedCharge = Omit<ChargeRow, 'br_code' | 'metadata' | 'items' | 'utms'> & {
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
  return csvFile<ExportedCharge>(`${chargeFile.file}-${dayInZone(new Date(), timeZone)}`, {
    locale,
    head: [...head, chargeFile.endToEnd, chargeFile.id, ...paidBy],
    pages: walkPages(cursor =>
      readCharges<ExportedCharge>(chargeColumns, accountId, mode, {
        ...rowFilters,
        cursor,
        limit: BATCH_MAX,
      }),
    ),
    cellsOf: row => [
      row.external_id,
      chargeStatus[shownStatusOf(row)],
      { amount: row.amount },
      { amount: row.refunded_amount },
      row.client_name,
      row.client_email,
      maskTaxId(row.client_doc),
      at(row.created_at),
      at(row.paid_at),
      at(row.expires_at),
      row.end_to_end_id,
      row.id,
      row.payer_name,
      row.payer_doc,
      describeBank(mode, row.payer_bank),
    ],
  })
}

export const refundsExportQuery = refundsQuery
  .omit({ limit: true, cursor: true })
  .extend({ locale: fileLocale })

type ExportedRefund = Omit<RefundRow, 'mode' | 'rejection_reason' | 'updated_at'> & {
  external_id: string
  client_name: string
  end_to_end_id: string | null
}

const refundColumns = asJson(Prisma.sql`
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
    readPage<ExportedRefund>(
      Prisma.sql`SELECT ${refundColumns}::text AS json
        FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
        WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode}
          ${pageSql('r', { ...filters, cursor, limit: BATCH_MAX })}`,
      BATCH_MAX,
    )
  return csvFile<ExportedRefund>(`${t.file}-${dayInZone(new Date(), timeZone)}`, {
    locale,
    head: [
      t.reference,
      t.payer,
      t.status,
      t.amount,
      t.reason,
      t.created,
      t.completed,
      t.rejected,
      t.returnId,
      t.endToEnd,
      t.charge,
      t.id,
    ],
    pages: walkPages(read),
    cellsOf: row => [
      row.external_id,
      row.client_name,
      refundStatus[row.status],
      { amount: row.amount },
      row.reason,
      at(row.created_at),
      at(row.completed_at),
      at(row.rejected_at),
      row.return_id,
      row.end_to_end_id,
      row.transaction_id,
      row.id,
    ],
  })
}

export const withdrawalsExportQuery = listQuery(WITHDRAWAL_STATUSES)
  .omit({ limit: true, cursor: true })
  .extend({ locale: fileLocale })

type ExportedWithdrawal = Omit<WithdrawalRow, 'pix_key' | 'webhook_url'> & {
  dict_key: string
  payee_name: string | null
  payee_bank: string | null
  memo: string | null
  pix_key_type: PixKeyType
}

const withdrawalColumns = asJson(Prisma.sql`
  w.id, w.external_id, w.status, w.amount, w.returned_amount, w.pix_key_type, w.dict_key,
  w.payee_name, w.payee_bank, ${utc('w.created_at')}, ${utc('w.approved_at')},
  ${utc('w.rejected_at')}, w.end_to_end_id, w.memo`)

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
    readPage<ExportedWithdrawal>(
      Prisma.sql`SELECT ${withdrawalColumns}::text AS json FROM withdrawals w
        WHERE w.account_id = ${accountId}::uuid AND w.mode = ${mode} ${found}
          ${pageSql('w', { ...filters, cursor, limit: BATCH_MAX })}`,
      BATCH_MAX,
    )
  const key = [t.keyType, t.key, t.payee, t.bank]
  return csvFile<ExportedWithdrawal>(`${t.file}-${dayInZone(new Date(), timeZone)}`, {
    locale,
    head: [
      t.reference,
      t.status,
      t.amount,
      t.returned,
      ...key,
      t.created,
      t.approved,
      t.rejected,
      t.memo,
      t.endToEnd,
      t.id,
    ],
    pages: walkPages(read),
    cellsOf: row => [
      row.external_id,
      withdrawalStatus[row.status],
      { amount: row.amount },
      { amount: row.returned_amount },
      pixKey[row.pix_key_type],
      maskPixKey(row.pix_key_type, row.dict_key),
      row.payee_name,
      describeBank(mode, row.payee_bank),
      at(row.created_at),
      at(row.approved_at),
      at(row.rejected_at),
      row.memo,
      row.end_to_end_id,
      row.id,
    ],
  })
}

/** Byte order mark: without it, Excel reads UTF-8 as Windows-1252. */
export const CSV_BOM = '\uFEFF'

/** An amount in cents is an object, so that a plain number is never formatted as money. */
type CsvCell = string | number | { amount: number } | null

/** Text that a spreadsheet would evaluate as a formula, including full-width signs. */
const FORMULA = /^\s*[=+\-@＝＋－＠\t\r]|^[\t\r]/
const NEEDS_QUOTES = /[",;]|^\s|\s$/
/** Line breaks of any kind, also those that only some programs read as such. */
const LINE_BREAKS = /[\p{Cc}\u2028\u2029]+/gu

/**
 * One line per row, whatever the texts contain. Uses `;` and a decimal comma in Portuguese. Text like a
 * formula gets an apostrophe in front.
 */
export function csvLine(cells: CsvCell[], locale: string): string {
  const isPortuguese = locale.startsWith('pt')
  const formatted = cells.map(cell => {
    if (cell === null) return ''
    if (typeof cell === 'number') return String(cell)
    if (typeof cell === 'string') {
      const line = cell.replace(LINE_BREAKS, ' ')
      return quoteCell(FORMULA.test(cell) ? `'${line}` : line)
    }
    const plain = formatDecimalAmount(cell.amount)
    return isPortuguese ? plain.replace('.', ',') : quoteCell(plain)
  })
  return `${formatted.join(isPortuguese ? ';' : ',')}\r\n`
}

/** Formats times that spreadsheets parse: 21/11/2026 09:05:03, in English 2026-11-21 09:05:03. */
export function csvTimeFormatter(locale: string, timeZone: string): (at: string) => string {
  const format = new Intl.DateTimeFormat(locale === 'en' ? 'sv-SE' : locale, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZone,
  })
  return at => format.format(new Date(at)).replace(', ', ' ')
}

function quoteCell(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
