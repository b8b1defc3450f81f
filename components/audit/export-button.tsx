'use client'

import { useLocale, useTranslations } from 'next-intl'
import { ExportButton } from '#components/filters/export-button.tsx'

interface ExportAuditProps {
  isStaff: boolean
  filters: Record<string, string>
}

export function ExportAudit({ isStaff, filters }: ExportAuditProps) {
  const t = useTranslations('audit')
  const locale = useLocale()
  const asked = new URLSearchParams({ locale, ...filters })
  return (
    <ExportButton
      path={`${isStaff ? '/admin' : '/dashboard'}/audit/export?${asked}`}
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
