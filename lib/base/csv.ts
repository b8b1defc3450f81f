/** Without it Excel takes UTF-8 for Windows-1252. */
export const CSV_BOM = '\uFEFF'

/** Cents stand in an object, so that no count is ever taken for money; null is an empty cell. */
export type CsvCell = string | number | { amount: number } | null

/** A spreadsheet would run a text that begins like this as a formula (also in full width). */
const FORMULA = /^\s*[=+\-@＝＋－＠\t\r]|^[\t\r]/
const QUOTED = /[",;\t\r\n]|^\s|\s$/

/**
 * One line of a table as spreadsheets of that language read it: `;` and a decimal comma in
 * Portuguese, `,` and a decimal point elsewhere. Numbers are plain; texts can be no formula.
 */
export function csvLine(cells: CsvCell[], locale: string): string {
  const brazilian = locale.startsWith('pt')
  const written = cells.map(cell => {
    if (cell === null) return ''
    if (typeof cell === 'number') return String(cell)
    if (typeof cell === 'string') return quoted(FORMULA.test(cell) ? `'${cell}` : cell)
    const plain = plainAmount(cell.amount)
    return brazilian ? plain.replace('.', ',') : quoted(plain)
  })
  return `${written.join(brazilian ? ';' : ',')}\r\n`
}

/** 21/11/2026 09:05:03 in Portuguese, 2026-11-21 09:05:03 in English: what spreadsheets read. */
export function csvTime(locale: string, timeZone: string): (at: string) => string {
  const format = new Intl.DateTimeFormat(locale === 'en' ? 'sv-SE' : locale, {
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    timeZone,
  })
  return at => format.format(new Date(at)).replace(', ', ' ')
}

/** Cents as reais with a point and exactly two decimals, as other programs read them: `-1234.05`. */
export function plainAmount(amount: number): string {
  const digits = String(Math.abs(amount)).padStart(3, '0')
  return `${amount < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

function quoted(text: string): string {
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
