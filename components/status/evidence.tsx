'use client'

import { useMutation } from '@tanstack/react-query'
import { Paperclip } from 'lucide-react'
import { useFormatter, useTranslations } from 'next-intl'
import { fileNameOf, saveAs } from '#components/api/client.ts'
import { useProblemText } from '#components/api/problem.tsx'
import { ExactTime } from '#components/format/format.tsx'
import type { Evidence } from '#lib/charges/disputes/schema.ts'

interface SentEvidenceProps {
  evidence: Evidence[]
  /** Requests the file of a piece of evidence. */
  read: (id: string) => Promise<Response>
}

/** What the merchant sent for the defense, with its files. */
export function SentEvidence({ evidence, read }: SentEvidenceProps) {
  const t = useTranslations('disputes')
  const format = useFormatter()
  const problemText = useProblemText()
  const save = useMutation({
    mutationFn: async ({ id }: Evidence) => {
      const response = await read(id)
      saveAs(await response.blob(), fileNameOf(response, id))
    },
  })
  const sizeOf = (bytes: number) =>
    bytes < 1_000_000
      ? format.number(Math.ceil(bytes / 1_000), { style: 'unit', unit: 'kilobyte' })
      : format.number(bytes / 1_000_000, {
          style: 'unit',
          unit: 'megabyte',
          maximumFractionDigits: 1,
        })
  if (evidence.length === 0) return null
  return (
    <ul
      aria-label={t('sentEvidence')}
      className="mt-3 grid grid-cols-[minmax(0,1fr)] gap-2 text-small"
    >
      {evidence.map(piece => (
        <li
          key={piece.id}
          className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-control bg-sunk px-4 py-3"
        >
          {piece.text ? <p className="whitespace-pre-line break-words">{piece.text}</p> : null}
          {piece.file_name ? (
            <button
              type="button"
              onClick={() => save.mutate(piece)}
              className="flex min-h-6 min-w-0 items-center gap-2 text-left font-medium text-accent hover:underline"
            >
              <Paperclip size={15} aria-hidden className="shrink-0" />
              <span className="min-w-0 break-words">{piece.file_name}</span>
              <span className="shrink-0 font-normal text-muted">
                {sizeOf(piece.file_bytes ?? 0)}
              </span>
            </button>
          ) : null}
          <p className="text-muted">
            <ExactTime at={piece.created_at} format="dated" />
          </p>
          {save.error && save.variables.id === piece.id ? (
            <p role="alert" className="text-bad">
              {problemText(save.error)}
            </p>
          ) : null}
        </li>
      ))}
    </ul>
  )
}
