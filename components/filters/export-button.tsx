'use client'

import { Check, CircleAlert, Download, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { ApiError, fileNameOf, saveAs } from '#components/api/client.ts'
import { useProblemText } from '#components/api/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { EXPORT_END } from '#lib/dashboard/schema.ts'

interface ExportButtonProps {
  /** Begins to read the streamed CSV. */
  read: (signal: AbortSignal) => Promise<Response>
  labels: {
    save: string
    stop: string
    broken: string
    saving: (rows: number) => string
    saved: (rows: number) => string
  }
}

/**
 * Saves every matching row as CSV; if the stream breaks, saves nothing and shows an error. Belongs
 * into a row that wraps, in which the error takes a line.
 */
export function ExportButton({ read, labels }: ExportButtonProps) {
  const problemText = useProblemText()
  const [rows, setRows] = useState<number | null>(null)
  const [saved, setSaved] = useState<number | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const running = useRef<AbortController>(null)

  async function save() {
    const controller = new AbortController()
    running.current = controller
    setRows(0)
    setSaved(null)
    setFailure(null)
    try {
      const exported = await receiveExport(await read(controller.signal), setRows)
      saveAs(exported.file, exported.name)
      setSaved(exported.rows)
    } catch (error) {
      if (!controller.signal.aborted) setFailure(error)
    } finally {
      setRows(null)
    }
  }

  return (
    <>
      <Button
        variant="plain"
        onClick={() => (rows === null ? save() : running.current?.abort())}
        className="-mx-2.5 text-small tabular-nums md:ml-auto"
      >
        {rows === null ? <Download size={16} aria-hidden /> : <X size={16} aria-hidden />}
        {rows === null ? labels.save : labels.stop}
        {rows === null ? null : (
          <span className="font-normal text-muted">{labels.saving(rows)}</span>
        )}
      </Button>
      <span
        role="status"
        className={saved === null ? 'sr-only' : 'flex items-center gap-1.5 text-ok text-small'}
      >
        {saved === null ? null : (
          <>
            <Check size={15} aria-hidden className="shrink-0" />
            {labels.saved(saved)}
          </>
        )}
      </span>
      {failure ? (
        <div className="basis-full pb-2">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {failure instanceof ApiError ? problemText(failure) : labels.broken}
          </Notice>
        </div>
      ) : null}
    </>
  )
}

interface ExportedFile {
  file: Blob
  name: string
  rows: number
}

/** Reads the streamed CSV; throws unless its last line confirms the number of rows received. */
async function receiveExport(
  response: Response,
  onRows: (rows: number) => void,
): Promise<ExportedFile> {
  if (!response.body) throw new Error('the answer has no body')
  const parts: string[] = []
  let lines = 0
  let withheldEnd: string | null = null
  const reader = response.body
    .pipeThrough(new TextDecoderStream('utf-8', { ignoreBOM: true }))
    .getReader()
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const text: string = (withheldEnd ?? '') + chunk.value
    // Text from EXPORT_END on may be the closing line, so it is withheld until the next chunk.
    const endIndex = text.lastIndexOf(EXPORT_END)
    const isEnd = endIndex >= 0 && /^\d*$/.test(text.slice(endIndex + 1))
    const body = isEnd ? text.slice(0, endIndex) : text
    withheldEnd = isEnd ? text.slice(endIndex) : null
    parts.push(body)
    lines += body.split('\n').length - 1
    onRows(Math.max(0, lines - 1))
  }
  const rows = lines - 1
  if (withheldEnd !== `${EXPORT_END}${rows}`) throw new Error('the table is not whole')
  return {
    file: new Blob(parts, { type: 'text/csv;charset=utf-8' }),
    name: fileNameOf(response, 'charges.csv'),
    rows,
  }
}
