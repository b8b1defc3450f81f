import { formatDecimalAmount } from '#lib/core/money.ts'

/** Byte order mark: without it, Excel reads UTF-8 as Windows-1252. */
export const CSV_BOM = '\uFEFF'

/** An amount in cents is an object, so that a plain number is never formatted as money. */
export type CsvCell = string | number | { amount: number } | null

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
