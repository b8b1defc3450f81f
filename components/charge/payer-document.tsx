'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useStory } from '#components/charge/story.tsx'
import { useProblemText } from '#components/problem.tsx'
import { useApi } from '#components/world.tsx'
import { formatTaxId } from '#lib/pix/tax-id.ts'

/** Covered until a member wants to see it: only then does it leave the server. */
export function PayerDocument() {
  const t = useTranslations('charge')
  const problemText = useProblemText()
  const api = useApi()
  const { id, client_doc: covered } = useStory().story.charge
  const [bare, setBare] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  async function reveal() {
    setFailure(null)
    await api.get<{ data: { client_doc: string } }>(`/transactions/${id}`).then(
      ({ data }) => setBare(formatTaxId(data.client_doc)),
      error => setFailure(error),
    )
  }
  return (
    <span className="flex flex-wrap items-center gap-x-3">
      <span className="font-mono text-[13px]">{bare ?? covered}</span>
      <button
        type="button"
        onClick={() => (bare ? setBare(null) : reveal())}
        className="min-h-6 font-semibold text-accent text-small hover:underline"
      >
        {bare ? t('hide') : t('reveal')}
      </button>
      <span role="status" className="text-bad text-small">
        {failure ? problemText(failure) : ''}
      </span>
    </span>
  )
}
