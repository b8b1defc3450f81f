'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'

interface FileFieldProps {
  label: string
  name: string
  accept: string
  /** How the form sends the file. */
  as: 'base64' | 'text'
  /** Whether the form sends the name, too, as `<name>_name`. */
  isNamed?: boolean
  hint?: string
  note?: string
  problem?: string | null
}

/** File field: the form sends the contents of the file; the page shows its name only. */
export function FileField({
  label,
  name,
  accept,
  as,
  isNamed,
  hint,
  note,
  problem,
}: FileFieldProps) {
  const t = useTranslations('ui')
  const input = useRef<HTMLInputElement>(null)
  const sent = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<{ name: string; contents: string } | null>(null)
  // The form sees the new value, and takes back what it said about the field.
  useEffect(() => {
    if (file) sent.current?.dispatchEvent(new Event('input', { bubbles: true }))
  }, [file])
  const id = `${name}-file`
  async function read(chosen: File | undefined) {
    if (!chosen) return
    const contents = as === 'base64' ? await readBase64(chosen) : await chosen.text()
    setFile({ name: chosen.name, contents })
  }
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1.5 block font-semibold text-small">
        {label}
        {note ? <span className="ml-1.5 font-normal text-muted">{note}</span> : null}
      </label>
      <input
        ref={input}
        id={id}
        type="file"
        accept={accept}
        className="sr-only"
        tabIndex={-1}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        onChange={event => read(event.target.files?.[0])}
      />
      <input ref={sent} type="hidden" name={name} value={file?.contents ?? ''} />
      {isNamed ? <input type="hidden" name={`${name}_name`} value={file?.name ?? ''} /> : null}
      <div className="flex min-h-11 min-w-0 items-center gap-3">
        <Button
          variant="quiet"
          className="shrink-0"
          aria-label={`${label}: ${t('chooseFile')}`}
          onClick={() => input.current?.click()}
        >
          {t('chooseFile')}
        </Button>
        <span className="min-w-0 truncate text-muted text-small">{file?.name ?? t('noFile')}</span>
      </div>
      {problem ? (
        <p id={`${id}-problem`} className="mt-1.5 font-medium text-bad text-small">
          {problem}
        </p>
      ) : hint ? (
        <p className="mt-1.5 text-muted text-small">{hint}</p>
      ) : null}
    </div>
  )
}

/** A megabyte takes milliseconds, which joining its bytes in JavaScript does not. */
function readBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
