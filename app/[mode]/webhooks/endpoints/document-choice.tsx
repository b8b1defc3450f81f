'use client'

import { useTranslations } from 'next-intl'
import { useHasPermission } from '#components/nav/permissions.tsx'
import type { Endpoint } from '#lib/webhooks/schema.ts'

/** Choice of full or masked documents; for roles that may not read them, what is sent. */
export function DocumentChoice({ endpoint }: { endpoint: Endpoint | undefined }) {
  const t = useTranslations('endpoints')
  const mayChoose = useHasPermission()('payers:read')
  const isFull = endpoint?.full_documents ?? mayChoose
  if (!mayChoose)
    return (
      <p className="text-muted text-small">
        {t(isFull ? 'documentsUntilMoved' : 'documentsMasked')}
      </p>
    )
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        name="full_documents"
        defaultChecked={isFull}
        className="mt-0.5 size-[18px] shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span className="block font-medium">{t('documents')}</span>
        <span className="block text-muted text-small">{t('documentsText')}</span>
      </span>
    </label>
  )
}
