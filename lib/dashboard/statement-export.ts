import * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { CSV_BOM, csvLine, csvTimeFormatter } from '#lib/core/csv.ts'
import { fileLocale, must } from '#lib/core/fields.ts'
import type { Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { ofxEnd, ofxHead, ofxLine } from '#lib/dashboard/ofx.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import { statementSpan, walkStatement } from '#lib/dashboard/statement.ts'
import { findStatementRange } from '#lib/ledger/statement.ts'
import { MESSAGES } from '#messages/words.ts'

const shortText = z.string().max(40, must('have at most 40 characters')).optional()

export const exportQuery = z.object({
  format: z.enum(['csv', 'ofx'], must('be csv or ofx')),
  locale: fileLocale,
  period: shortText,
  from: shortText,
  to: shortText,
})
type ExportQuery = z.infer<typeof exportQuery>

const TYPES = { csv: 'text/csv; charset=utf-8', ofx: 'application/x-ofx; charset=us-ascii' }

export async function exportStatement(
  account: { id: string; name: string },
  mode: Mode,
  query: ExportQuery,
) {
  const timeZone = await readTimeZone(account.id)
  const span = statementSpan(query, timeZone)
  const range = await findStatementRange(account.id, mode, span)
  const now = new Date()
  const last = span.to && span.to < now ? new Date(span.to.getTime() - 1) : now
  const pages = walkStatement(account.id, mode, range)
  const statement = { accountId: account.id, mode, timeZone, from: span.from, last, ...range }
  const chunks =
    query.format === 'csv'
      ? writeCsv(pages, query.locale, timeZone)
      : writeOfx(pages, query.locale, statement)
  const name = `${MESSAGES[query.locale].statement.file}-${dayOf(last, timeZone)}`
  return {
    headers: {
      'content-type': TYPES[query.format],
      'content-disposition': `attachment; filename="${name}.${query.format}"`,
    },
    chunks,
  }
}

type Pages = AsyncIterable<StatementRow[]>

async function* writeCsv(pages: Pages, locale: Locale, timeZone: string): AsyncGenerator<string> {
  const { column, kind } = MESSAGES[locale].statement
  const time = csvTimeFormatter(locale, timeZone)
  const names = [column.when, column.what, column.with, column.reference, column.id]
  yield CSV_BOM + csvLine([...names, column.amount, column.balance], locale)
  for await (const rows of pages) {
    const lines = rows.map(row =>
      csvLine(
        [
          time(row.created_at),
          kind[row.kind],
          counterparty(row),
          row.external_id,
          row.subject_id,
          { amount: row.amount },
          { amount: row.balance_after },
        ],
        locale,
      ),
    )
    yield lines.join('')
  }
}

async function* writeOfx(
  pages: Pages,
  locale: Locale,
  statement: Parameters<typeof ofxHead>[0],
): AsyncGenerator<string> {
  const { kind } = MESSAGES[locale].statement
  yield ofxHead(statement)
  for await (const rows of pages) {
    const lines = rows.map(row => {
      const parts = [kind[row.kind], counterparty(row), row.external_id].filter(Boolean)
      return ofxLine(row, parts.join(' - '), statement.timeZone)
    })
    yield lines.join('')
  }
  yield ofxEnd(statement)
}

function counterparty({ client_name, pix_key_type, dict_key }: StatementRow): string {
  return client_name ?? (pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : '')
}
