'use client'

import { useMutation } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { DELIVERIES_PATH } from '#app/[mode]/webhooks/delivery-data.ts'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import type { DeliveryDetail } from '#lib/webhooks/schema.ts'

interface RevealDeliveryProps {
  id: string
  onRevealed: (delivery: DeliveryDetail) => void
}

/** Shows the attempts in full; each time is audited. */
export function RevealDelivery({ id, onRevealed }: RevealDeliveryProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const reveal = useMutation({
    mutationFn: () =>
      api.send<{ data: DeliveryDetail }>('POST', `/dashboard${DELIVERIES_PATH}/${id}/document`),
    onSuccess: ({ data }) => onRevealed(data),
  })
  return (
    <div className="mt-4">
      <button
        type="button"
        disabled={reveal.isPending}
        onClick={() => reveal.mutate()}
        className="min-h-6 font-semibold text-accent text-small hover:underline"
      >
        {t('revealDocument')}
      </button>
      <p className="text-muted text-small">{t('revealDocumentText')}</p>
      <Problem error={reveal.error} />
    </div>
  )
}
