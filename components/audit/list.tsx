'use client'

import { useQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { AuditDetails } from '#components/audit/details.tsx'
import { AuditFilters, CLEARED_FILTERS } from '#components/audit/filters.tsx'
import { AuditRows } from '#components/audit/rows.tsx'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import type { ListPage } from '#components/filters/live-page.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/form/api.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { AuditLine } from '#lib/audit/schema.ts'

interface AuditListProps {
  isStaff: boolean
  apiParams: Record<string, string>
  isFiltered: boolean
  initialData: ListPage<AuditLine>
}

export function AuditList({ isStaff, apiParams, isFiltered, initialData }: AuditListProps) {
  const t = useTranslations('audit')
  const api = useApi()
  const urlFilters = useFilters()
  const [shownLine, setShownLine] = useState<AuditLine | null>(null)
  const path = `${isStaff ? '/admin/audit' : '/dashboard/audit'}?${new URLSearchParams(apiParams)}`
  const { data, error } = useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<AuditLine>>(path, signal),
    initialData,
  })
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !isFiltered ? null : <AuditFilters isStaff={isStaff} {...urlFilters} />}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {!isEmpty ? (
          <AuditRows isStaff={isStaff} lines={data.data} onShow={setShownLine} />
        ) : (
          <Sheet>
            {isFiltered ? (
              <NoMatches
                title={t('noneFit')}
                text={t('noneFitText')}
                clear={() => urlFilters.set(CLEARED_FILTERS)}
              />
            ) : (
              <EmptyState icon={ScrollText} title={t('none')} text={t('noneText')} />
            )}
          </Sheet>
        )}
      </ListBody>
      {shownLine ? (
        <AuditDetails
          line={shownLine}
          isStaff={isStaff}
          onClose={() => setShownLine(null)}
          onFilter={changes => {
            setShownLine(null)
            urlFilters.set({ ...CLEARED_FILTERS, ...changes })
          }}
        />
      ) : null}
    </>
  )
}

interface ExportAuditProps {
  isStaff: boolean
  filters: Record<string, string>
}

export function ExportAudit({ isStaff, filters }: ExportAuditProps) {
  const t = useTranslations('audit')
  const locale = useLocale()
  const query = new URLSearchParams({ locale, ...filters })
  return (
    <ExportButton
      path={`${isStaff ? '/admin' : '/dashboard'}/audit/export?${query}`}
      labels={{
        save: t('export'),
        stop: t('stop'),
        broken: t('exportBroken'),
        saving: rows => t('exporting', { rows }),
        saved: rows => t('exported', { rows }),
      }}
    />
  )
}
