import { PAGE_BYTES_MAX, type Page } from '#lib/db/page.ts'
import type { PageOfResult } from '#lib/http/response.ts'

/** Result of a list. The endpoint masks its entries for callers who may not read documents. */
export function pageResult<Row, Cursor extends string | number>(
  page: Page<Row, Cursor>,
  toWire: (row: Row) => unknown = row => row,
  cursorName = 'next_cursor',
  more: Record<string, unknown> = {},
): PageOfResult {
  const serialize: PageOfResult['serializePage'] = mask =>
    serializePage(page, row => mask(toWire(row)), { cursorName, more })
  return { serializePage: serialize }
}

/** Serializes each row once and measures it; rows beyond PAGE_BYTES_MAX go to the next page. */
function serializePage<Row, Cursor extends string | number>(
  { rows, nextCursor, cursorOf }: Page<Row, Cursor>,
  toWire: (row: Row) => unknown,
  { cursorName, more }: { cursorName: string; more: Record<string, unknown> },
): string {
  const texts: string[] = []
  let next = nextCursor
  let bytes = 0
  for (const [nth, row] of rows.entries()) {
    const text = JSON.stringify(toWire(row))
    // One byte for the comma.
    bytes += Buffer.byteLength(text) + 1
    const previous = nth > 0 ? rows[nth - 1] : undefined
    if (previous !== undefined && bytes > PAGE_BYTES_MAX) {
      next = cursorOf(previous)
      break
    }
    texts.push(text)
  }
  const rest = JSON.stringify({ [cursorName]: next, ...more })
  return `{"data":[${texts.join(',')}],${rest.slice(1)}`
}
