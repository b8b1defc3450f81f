'use client'

import { CircleAlert, Download, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { receiveTable } from '#components/filters/receive-table.ts'
import { useProblemText } from '#components/form/problem.tsx'
import { saveAs } from '#components/form/save-file.ts'
import { useApi } from '#components/nav/world.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'
import { ApiProblem } from '#lib/edge/client/api.ts'

interface ExportButtonProps {
  /** What answers the table, filters and language included. */
  path: string
  words: {
    save: string
    stop: string
    broken: string
    saving: (rows: number) => string
    saved: (rows: number) => string
  }
}

/** Saves exactly what is filtered: all of it, or, where the stream breaks, nothing and the reason. */
export function ExportButton({ path, words }: ExportButtonProps) {
  const api = useApi()
  const problemText = useProblemText()
  const [rows, setRows] = useState<number | null>(null)
  const [saved, setSaved] = useState<number | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const running = useRef<AbortController>(null)

  async function save() {
    const stopping = new AbortController()
    running.current = stopping
    setRows(0)
    setSaved(null)
    setFailure(null)
    try {
      const table = await receiveTable(await api.open(path, stopping.signal), setRows)
      saveAs(table.file, table.name)
      setSaved(table.rows)
    } catch (error) {
      if (!stopping.signal.aborted) setFailure(error)
    } finally {
      setRows(null)
    }
  }

  return (
    <>
      <Button
        look="plain"
        onClick={() => (rows === null ? save() : running.current?.abort())}
        className="text-small tabular-nums"
      >
        {rows === null ? <Download size={16} aria-hidden /> : <X size={16} aria-hidden />}
        {rows === null ? words.save : words.stop}
        {rows === null ? null : (
          <span className="font-normal text-muted">{words.saving(rows)}</span>
        )}
      </Button>
      <span role="status" className="sr-only">
        {saved === null ? '' : words.saved(saved)}
      </span>
      {failure ? (
        <div className="w-full pb-2">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {failure instanceof ApiProblem ? problemText(failure) : words.broken}
          </Notice>
        </div>
      ) : null}
    </>
  )
}
