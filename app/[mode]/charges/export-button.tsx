'use client'

import { useLocale, useTranslations } from 'next-intl'
import { ExportButton } from '#components/filters/export-button.tsx'

export function ExportCharges({ asked }: { asked: string }) {
  const t = useTranslations('charges')
  return (
    <ExportButton
      path={`/dashboard/charges/export?locale=${useLocale()}&${asked}`}
      words={{
        save: t('export'),
        stop: t('stop'),
        broken: t('exportBroken'),
        saving: rows => t('exporting', { rows }),
        saved: rows => t('exported', { rows }),
      }}
    />
  )
}
