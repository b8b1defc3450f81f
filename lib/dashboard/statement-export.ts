import * as z from 'zod'
import { readTimeZone } from '#lib/accounts/queries.ts'
import { fileLocale, must } from '#lib/core/fields.ts'
import { dateFormat, type Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { foldText } from '#lib/core/pix/br-code.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { CSV_BOM, csvLine, csvTimeFormatter } from '#lib/dashboard/exports.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import {
  ENTRY_FIELDS,
  entryToWire,
  KIND_OF,
  type StatementFilter,
  statementSpan,
  toSpan,
  walkStatement,
} from '#lib/dashboard/statement.ts'
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
  const name = `${MESSAGES[query.locale].statement.file}-${dayInZone(last, timeZone)}`
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

export const CSV_TYPE = 'text/csv; charset=utf-8'

/** Streams a statement for programs: the file of the dashboard has the words and signs of a language. */
export async function writeStatement(accountId: string, mode: Mode, filter: StatementFilter) {
  const span = toSpan(filter, await readTimeZone(accountId))
  const range = await findStatementRange(accountId, mode, span)
  return {
    headers: { 'content-type': CSV_TYPE },
    chunks: writeLines(walkStatement(accountId, mode, range), filter.kind),
  }
}

async function* writeLines(
  pages: ReturnType<typeof walkStatement>,
  kind: StatementFilter['kind'],
): AsyncGenerator<string> {
  yield csvLine(ENTRY_FIELDS, 'en')
  for await (const rows of pages) {
    const chosen = kind ? rows.filter(row => row.kind === KIND_OF[kind]) : rows
    const entries = chosen.map(entryToWire)
    if (entries.length === 0) continue
    yield entries
      .map(entry =>
        csvLine(
          ENTRY_FIELDS.map(field => entry[field]),
          'en',
        ),
      )
      .join('')
  }
}

/**
 * OFX 1.0.2, which Brazilian banks export and accounting programs import. Closes every element, as
 * SGML allows; all text is ASCII, so that the assumed encoding does not matter.
 */
interface OfxStatement {
  accountId: string
  mode: Mode
  timeZone: string
  from?: Date
  last: Date
  closing: number
}

const HEADER = {
  OFXHEADER: '100',
  DATA: 'OFXSGML',
  VERSION: '102',
  SECURITY: 'NONE',
  ENCODING: 'USASCII',
  CHARSET: '1252',
  COMPRESSION: 'NONE',
  OLDFILEUID: 'NONE',
  NEWFILEUID: 'NONE',
}
const MEMO_MAX = 255
const BEFORE_PIX = new Date('2020-01-01T12:00:00Z')

export function ofxHead({ accountId, mode, timeZone, from, last }: OfxStatement): string {
  const header = Object.entries(HEADER).map(([name, value]) => `${name}:${value}\r\n`)
  const time = ofxTime(last, timeZone)
  const status = '<STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>'
  return `${header.join('')}\r\n${[
    '<OFX>',
    `<SIGNONMSGSRSV1><SONRS>${status}<DTSERVER>${time}</DTSERVER><LANGUAGE>POR</LANGUAGE>`,
    '<FI><ORG>Troco</ORG></FI></SONRS></SIGNONMSGSRSV1>',
    `<BANKMSGSRSV1><STMTTRNRS><TRNUID>0</TRNUID>${status}<STMTRS><CURDEF>BRL</CURDEF>`,
    // BANKID is 0, because the ledger is not at a bank. Each account and mode has its own ACCTID.
    `<BANKACCTFROM><BANKID>0</BANKID><ACCTID>${mode}-${accountId.slice(-12)}</ACCTID>`,
    '<ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>',
    `<BANKTRANLIST><DTSTART>${ofxTime(from ?? BEFORE_PIX, timeZone)}</DTSTART>`,
    `<DTEND>${time}</DTEND>`,
    '',
  ].join('\r\n')}`
}

/** Formats one movement. FITID identifies the ledger transfer: the same in every file. */
export function ofxLine(row: StatementRow, memo: string, timeZone: string): string {
  const { kind, subject_id, amount, created_at } = row
  return [
    `<STMTTRN><TRNTYPE>${amount > 0 ? 'CREDIT' : 'DEBIT'}</TRNTYPE>`,
    `<DTPOSTED>${ofxTime(new Date(created_at), timeZone)}</DTPOSTED>`,
    `<TRNAMT>${formatDecimalAmount(amount)}</TRNAMT>`,
    `<FITID>${kind}.${subject_id}</FITID>`,
    `<MEMO>${ofxText(memo)}</MEMO></STMTTRN>\r\n`,
  ].join('')
}

export function ofxEnd({ closing, last, timeZone }: OfxStatement): string {
  return [
    '</BANKTRANLIST>',
    `<LEDGERBAL><BALAMT>${formatDecimalAmount(closing)}</BALAMT>`,
    `<DTASOF>${ofxTime(last, timeZone)}</DTASOF></LEDGERBAL>`,
    '</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>',
    '',
  ].join('\r\n')
}

/** Folds to ASCII before escaping, so that folding cannot produce a special character. */
export function ofxText(text: string): string {
  const plain = foldText(text, MEMO_MAX) || '-'
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Formats the merchant's local time with its UTC offset: 20261121103000[-3:BRT]. */
export function ofxTime(moment: Date, timeZone: string): string {
  const parts = dateFormat('en-US', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
    timeZone,
  }).formatToParts(moment)
  const part = (type: string) => parts.find(item => item.type === type)?.value ?? ''
  const digits = ['year', 'month', 'day', 'hour', 'minute', 'second'].map(part).join('')
  const [, sign = '+', hours = '0', minutes = '00'] =
    /([+-])(\d\d):(\d\d)/.exec(part('timeZoneName')) ?? []
  const offset = `${sign}${Number(hours)}${minutes === '00' ? '' : `.${minutes}`}`
  return `${digits}[${offset}:${offset === '-3' ? 'BRT' : 'GMT'}]`
}
