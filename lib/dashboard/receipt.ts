import { Readable } from 'node:stream'
import { encode } from 'uqr'
import * as z from 'zod'
import { readDetails, readTimeZone } from '#lib/accounts/queries.ts'
import { createChargeReceiptUrl } from '#lib/charges/urls.ts'
import { refuse } from '#lib/core/errors.ts'
import { fileLocale, openApiMeta } from '#lib/core/fields.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { dateFormat, type Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatReais } from '#lib/core/money.ts'
import {
  buildPdf,
  PDF_PAGE,
  type PdfColor,
  type PdfRectangle,
  pdfRectangles,
  pdfText,
  pdfWidth,
  wrapPdfText,
} from '#lib/core/pdf.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import { findDarkRuns } from '#lib/core/qr.ts'
import { env } from '#lib/core/settings.ts'
import { recordExport } from '#lib/dashboard/exports.ts'
import type { ReceiptSheet } from '#lib/dashboard/schema.ts'
import { readChargeTimeline, readWithdrawalTimeline } from '#lib/dashboard/timeline.ts'
import type { ReceiptKind } from '#lib/receipts/sign.ts'
import { createWithdrawalReceiptUrl } from '#lib/withdrawals/queries.ts'
import { MESSAGES } from '#messages/words.ts'

interface ReceiptRequest {
  account: { id: string; name: string }
  mode: Mode
  kind: ReceiptKind
  id: string
  /** Null for a token. */
  userId: string | null
  locale: Locale
}

type TextKey = Exclude<keyof (typeof MESSAGES)[Locale]['receipt'], 'pdfIn'>
type Row = [name: TextKey, value: string | null | undefined, isCode?: boolean]
interface Formats {
  money: (cents: number) => string
  time: (at: string | null) => string
}

/** Reads the receipt of a paid charge or an approved withdrawal. Refuses as not found before that. */
export async function readReceipt(request: ReceiptRequest): Promise<ReceiptSheet> {
  const { account, mode, kind, locale } = request
  const [timeZone, { cnpj }] = await Promise.all([
    readTimeZone(account.id),
    readDetails(account.id),
  ])
  const formats = createFormats(locale, timeZone)
  const read = kind === 'transaction' ? readChargeRows : readWithdrawalRows
  const { id, url, amount, rows } = await read(request, formats)
  if (url === null) throw refuse('receipt_not_found')
  const { receipt: t } = MESSAGES[locale]
  const allRows: Row[] = [...rows, ['issuedAt', formats.time(new Date().toISOString())]]
  return {
    mode,
    id,
    url,
    address: env().PUBLIC_URL,
    merchant: account.name,
    cnpj: cnpj && formatTaxId(cnpj),
    title: t.one.replace('{amount}', formats.money(amount)),
    operation: t[kind],
    amount: formats.money(amount),
    rows: allRows.flatMap(([name, value, isCode]) =>
      value ? [{ name: t[name], value, isCode }] : [],
    ),
  }
}

interface Found {
  id: string
  url: string | null
  amount: number
  rows: Row[]
}

async function readChargeRows(
  { account, mode, id }: ReceiptRequest,
  { money, time }: Formats,
): Promise<Found> {
  const { charge, lost } = await readChargeTimeline(account.id, mode, id)
  const { amount, external_id: reference } = charge
  const returned = charge.refunded_amount + (charge.returned_amount ?? 0) + lost
  const rows: Row[] = [
    ['paidAt', time(charge.paid_at)],
    ['receiver', account.name],
    ['payer', charge.client_name || null],
    ['payerDocument', charge.client_name && charge.client_doc],
    ['description', charge.description],
    ['reference', reference === removeHyphens(charge.id) ? null : reference],
    ['createdAt', time(charge.created_at)],
    ['returned', returned > 0 ? money(returned) : null],
    ['endToEnd', charge.end_to_end_id, true],
    ['id', charge.id, true],
  ]
  return { id: charge.id, url: await createChargeReceiptUrl(charge), amount, rows }
}

async function readWithdrawalRows(
  { account, mode, id, userId }: ReceiptRequest,
  { money, time }: Formats,
): Promise<Found> {
  const timeline = await readWithdrawalTimeline(account.id, mode, id, userId)
  const { withdrawal, payee, dict_key: key } = timeline
  const returned = withdrawal.returned_amount
  const rows: Row[] = [
    ['approvedAt', time(withdrawal.approved_at)],
    ['sender', account.name],
    ['payee', payee?.name],
    ['payeeDocument', payee?.masked_doc ?? withdrawal.owner_doc],
    ['payeeBank', payee?.bank],
    ['payeeKey', maskPixKey(withdrawal.pix_key_type, key)],
    ['reference', withdrawal.external_id],
    ['requestedAt', time(withdrawal.created_at)],
    ['returned', returned > 0 ? money(returned) : null],
    ['endToEnd', withdrawal.end_to_end_id, true],
    ['id', withdrawal.id, true],
  ]
  const url = await createWithdrawalReceiptUrl(account.id, withdrawal)
  return { id: withdrawal.id, url, amount: withdrawal.amount, rows }
}

function createFormats(locale: Locale, timeZone: string): Formats {
  const times = dateFormat(locale, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'shortOffset',
    timeZone,
  })
  return {
    money: cents => `R$ ${formatReais(cents, locale)}`,
    time: at => (at === null ? '' : times.format(new Date(at))),
  }
}

export const receiptQuery = z.object({
  locale: fileLocale,
})
export const apiReceiptQuery = z.object({
  locale: fileLocale
    .default('pt-BR')
    .meta(openApiMeta('Language of the receipt: `pt-BR`, the default, or `en`.', 'en')),
})

const INK: PdfColor = [23, 33, 29]
const MUTED: PdfColor = [93, 104, 98]
const LINE: PdfColor = [227, 223, 213]
const TEST: PdfColor = [174, 69, 18]
const TEST_SOFT: PdfColor = [251, 230, 216]

const MARGIN = 56
const RIGHT = PDF_PAGE.width - MARGIN
const VALUE_X = 230
/** About 4 cm: a phone reads a module of 0.6 mm from paper. */
const QR_SIZE = 113
const QR_TOP = 70
const ROWS_TOP = 290
const LEADING = 13
/** Lines of a value, so that the longest names and references fit on the page. */
const LINES_MAX = 4

/** Exports the receipt, and records that in the audit log before the first byte is sent. */
export async function exportReceipt(request: ReceiptRequest) {
  const { account, mode, userId, locale } = request
  const sheet = await readReceipt(request)
  await recordExport('receipt.exported', userId, account.id, { mode, format: 'pdf' }, sheet.id)
  const pdf = renderReceiptPdf(sheet, locale)
  const name = `${MESSAGES[locale].receipt.file}-${sheet.id}`
  return {
    headers: {
      'content-type': 'application/pdf',
      'content-disposition': `attachment; filename="${name}.pdf"`,
    },
    chunks: Readable.from([pdf]),
  }
}

/** Sends the receipt to a program, or exports it to a member: what a token reads is in no audit log. */
export async function sendReceipt(request: ReceiptRequest) {
  if (request.userId !== null) return exportReceipt(request)
  return { file: renderReceiptPdf(await readReceipt(request), request.locale) }
}

/** Draws the receipt as a PDF of one page: text that can be copied, and a QR code of rectangles. */
function renderReceiptPdf(sheet: ReceiptSheet, locale: Locale): string {
  const { receipt: t } = MESSAGES[locale]
  const qrArea = [RIGHT - QR_SIZE, QR_TOP, QR_SIZE, QR_SIZE] as const
  const drawings = [
    ...(sheet.mode === 'test' ? drawTestLine(t.test, t.testText) : []),
    ...drawHead(sheet, t.title),
    drawQrCode(sheet.url, qrArea),
    ...drawCheck(t.check, t.checkText.replace('{address}', sheet.address)),
    ...drawRows(sheet.rows),
    pdfText(MARGIN, PDF_PAGE.height - 48, t.notFiscal, { size: 10, color: INK, font: 'bold' }),
  ]
  return buildPdf({
    title: sheet.title,
    language: locale,
    drawings,
    link: { area: qrArea, url: sheet.url },
  })
}

function drawTestLine(title: string, text: string): string[] {
  const titleStyle = { size: 10, color: TEST, font: 'bold' } as const
  return [
    pdfRectangles([[0, 0, PDF_PAGE.width, 40]], TEST_SOFT),
    pdfRectangles([[0, 0, PDF_PAGE.width, 4]], TEST),
    pdfText(MARGIN, 26, title, titleStyle),
    pdfText(MARGIN + pdfWidth(title, 10, 'bold') + 8, 26, text, { size: 10, color: TEST }),
  ]
}

function drawHead({ merchant, cnpj, operation, amount }: ReceiptSheet, title: string): string[] {
  const width = RIGHT - QR_SIZE - 24 - MARGIN
  const style = { size: 12, color: INK }
  const names = wrapPdfText(merchant, width, style, LINES_MAX)
  return [
    pdfText(MARGIN, 84, title, { size: 20, color: INK, font: 'bold' }),
    ...names.map((line, index) => pdfText(MARGIN, 106 + index * 15, line, style)),
    ...(cnpj
      ? [pdfText(MARGIN, 106 + names.length * 15, `CNPJ ${cnpj}`, { size: 10, color: MUTED })]
      : []),
    pdfText(MARGIN, 196, operation, { size: 11, color: MUTED }),
    pdfText(MARGIN, 228, amount, { size: 34, color: INK, font: 'bold' }),
  ]
}

/** Draws each dark run of a row as one rectangle, a little too high, so that no seam shows between rows. */
function drawQrCode(url: string, [left, top, size]: PdfRectangle): string {
  const { data } = encode(url, { ecc: 'M', border: 0 })
  const module = size / data.length
  const round = (value: number) => Number(value.toFixed(3))
  const runs = data.flatMap((row, y) =>
    findDarkRuns(row).map(({ start, length }): PdfRectangle => {
      const [x, width] = [left + start * module, length * module]
      return [round(x), round(top + y * module), round(width), round(module + 0.02)]
    }),
  )
  return pdfRectangles(runs, [0, 0, 0])
}

function drawCheck(title: string, text: string): string[] {
  const top = QR_TOP + QR_SIZE + 14
  const lines = wrapPdfText(text, RIGHT - MARGIN, { size: 9 }, 2)
  const x = RIGHT - pdfWidth(title, 10)
  return [
    pdfText(Math.round(x), top, title, { size: 10, color: INK }),
    ...lines.map((line, index) =>
      pdfText(MARGIN, top + 18 + index * 12, line, { size: 9, color: MUTED }),
    ),
  ]
}

function drawRows(rows: ReceiptSheet['rows']): string[] {
  let y = ROWS_TOP
  return rows.flatMap(({ name, value, isCode }) => {
    const style = { size: 10, color: INK, font: isCode ? ('mono' as const) : undefined }
    const lines = wrapPdfText(value, RIGHT - VALUE_X, style, LINES_MAX)
    const names = wrapPdfText(name, VALUE_X - MARGIN - 12, { size: 10 })
    const top = y
    y += Math.max(lines.length, names.length) * LEADING + 10
    return [
      pdfRectangles([[MARGIN, top - 16, RIGHT - MARGIN, 0.5]], LINE),
      ...names.map((line, index) =>
        pdfText(MARGIN, top + index * LEADING, line, { size: 10, color: MUTED }),
      ),
      ...lines.map((line, index) => pdfText(VALUE_X, top + index * LEADING, line, style)),
    ]
  })
}
