'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useStory } from '#app/[mode]/charges/[id]/story.tsx'
import { useProblemText } from '#components/form/problem.tsx'
import { useMay } from '#components/nav/may.tsx'
import { useApi } from '#components/nav/world.tsx'
import { formatTaxId } from '#lib/base/pix/tax-id.ts'

/** Covered until somebody who may wants to see it: then it leaves the server, which writes that down. */
export function PayerDocument() {
  const t = useTranslations('charge')
  const problemText = useProblemText()
  const api = useApi()
  const maySee = useMay()('documents:reveal')
  const { id, client_doc: covered } = useStory().story.charge
  const [bare, setBare] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  async function reveal() {
    setFailure(null)
    const path = `/dashboard/charges/${id}/document`
    await api.send<{ data: { document: string } }>('POST', path).then(
      ({ data }) => setBare(formatTaxId(data.document)),
      error => setFailure(error),
    )
  }
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      <span className="font-mono text-[13px]">{bare ?? covered}</span>
      {maySee ? (
        <button
          type="button"
          onClick={() => (bare ? setBare(null) : reveal())}
          className="min-h-6 font-semibold text-accent text-small hover:underline"
        >
          {bare ? t('hide') : t('reveal')}
        </button>
      ) : null}
      <span role="status" className="text-bad text-small">
        {failure ? problemText(failure) : ''}
      </span>
    </span>
  )
}
