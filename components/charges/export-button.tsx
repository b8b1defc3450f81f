'use client'

import { CircleAlert, Download, X } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { receiveTable } from '#components/charges/receive-table.ts'
import { useProblemText } from '#components/problem.tsx'
import { saveAs } from '#components/save-file.ts'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'
import { useApi } from '#components/world.tsx'
import { ApiProblem } from '#lib/client/api.ts'

/** Saves exactly what is filtered: all of it, or, where the stream breaks, nothing and the reason. */
export function ExportButton({ asked }: { asked: string }) {
  const t = useTranslations('charges')
  const api = useApi()
  const locale = useLocale()
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
      const path = `/dashboard/charges/export?locale=${locale}&${asked}`
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
        {rows === null ? t('export') : t('stop')}
        {rows === null ? null : (
          <span className="font-normal text-muted">{t('exporting', { rows })}</span>
        )}
      </Button>
      <span role="status" className="sr-only">
        {saved === null ? '' : t('exported', { rows: saved })}
      </span>
      {failure ? (
        <div className="w-full pb-2">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {failure instanceof ApiProblem ? problemText(failure) : t('exportBroken')}
          </Notice>
        </div>
      ) : null}
    </>
  )
}
