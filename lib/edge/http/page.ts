import { PAGE_BYTES_MAX, type Page } from '#lib/base/db/page.ts'
import type { SerializedResult } from '#lib/edge/http/response.ts'

/** Serializes each row once and measures it; rows beyond PAGE_BYTES_MAX go to the next page. */
export function pageResult<Row, Cursor extends string | number>(
  { rows, nextCursor, cursorOf }: Page<Row, Cursor>,
  serialize: (row: Row) => unknown = row => row,
  cursorName = 'next_cursor',
  more: Record<string, unknown> = {},
): SerializedResult {
  const texts: string[] = []
  let next = nextCursor
  let bytes = 0
  for (const [nth, row] of rows.entries()) {
    const text = JSON.stringify(serialize(row))
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
  return { serialized: `{"data":[${texts.join(',')}],${rest.slice(1)}` }
}
