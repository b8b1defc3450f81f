'use client'

import { useQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { AuditDetails } from '#components/audit/details.tsx'
import { AuditFilters, UNSET } from '#components/audit/filters.tsx'
import { AuditRows } from '#components/audit/rows.tsx'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ListBody, NoneFit } from '#components/filters/list-body.tsx'
import type { ListPage } from '#components/filters/live-page.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/nav/world.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { AuditLine } from '#lib/base/audit/schema.ts'

interface AuditListProps {
  isStaff: boolean
  /** Filters from the page's address, named as the API expects them. */
  asked: Record<string, string>
  isFiltered: boolean
  first: ListPage<AuditLine>
}

export function AuditList({ isStaff, asked, isFiltered, first }: AuditListProps) {
  const t = useTranslations('audit')
  const api = useApi()
  const address = useFilters()
  const [shown, setShown] = useState<AuditLine | null>(null)
  const path = `${isStaff ? '/admin/audit' : '/dashboard/audit'}?${new URLSearchParams(asked)}`
  const { data, error } = useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<AuditLine>>(path, signal),
    initialData: first,
  })
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !isFiltered ? null : <AuditFilters isStaff={isStaff} {...address} />}
      <ListBody error={error} isPending={address.isPending} nextCursor={data.next_cursor}>
        {!isEmpty ? (
          <AuditRows isStaff={isStaff} lines={data.data} onShow={setShown} />
        ) : (
          <Sheet>
            {isFiltered ? (
              <NoneFit
                title={t('noneFit')}
                text={t('noneFitText')}
                clear={() => address.set(UNSET)}
              />
            ) : (
              <Empty icon={ScrollText} title={t('none')} text={t('noneText')} />
            )}
          </Sheet>
        )}
      </ListBody>
      {shown ? (
        <AuditDetails
          line={shown}
          isStaff={isStaff}
          onClose={() => setShown(null)}
          onNarrow={changes => {
            setShown(null)
            address.set({ ...UNSET, ...changes })
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
