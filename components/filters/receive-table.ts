import { fileNameOf } from '#components/form/save-file.ts'
import { EXPORT_END } from '#lib/views/dashboard/schema.ts'

interface Table {
  file: Blob
  name: string
  rows: number
}

/** Reads a table as it comes; fails unless it ends with the number of rows that have arrived. */
export async function receiveTable(
  answer: Response,
  onRows: (rows: number) => void,
): Promise<Table> {
  if (!answer.body) throw new Error('the answer has no body')
  const parts: string[] = []
  let lines = 0
  let end: string | null = null
  const reader = answer.body
    .pipeThrough(new TextDecoderStream('utf-8', { ignoreBOM: true }))
    .getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const text: string = (end ?? '') + read.value
    // Only what closes the table begins with this: what follows it is held back until it is over.
    const at = text.lastIndexOf(EXPORT_END)
    const isEnd = at >= 0 && /^\d*$/.test(text.slice(at + 1))
    const body = isEnd ? text.slice(0, at) : text
    end = isEnd ? text.slice(at) : null
    parts.push(body)
    lines += body.split('\n').length - 1
    onRows(Math.max(0, lines - 1))
  }
  const rows = lines - 1
  if (end !== `${EXPORT_END}${rows}`) throw new Error('the table is not whole')
  return {
    file: new Blob(parts, { type: 'text/csv;charset=utf-8' }),
    name: fileNameOf(answer, 'charges.csv'),
    rows,
  }
}
