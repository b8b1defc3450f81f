import { CSV_BOM, type CsvCell, csvLine } from '#lib/core/csv.ts'
import type { Locale } from '#lib/core/locale.ts'
import { EXPORT_END } from '#lib/dashboard/schema.ts'

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
