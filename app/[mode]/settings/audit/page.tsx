import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { SettingsTabs } from '#app/[mode]/settings/settings-tabs.tsx'
import { AuditList, ExportAudit } from '#components/audit/list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { listAudit } from '#lib/audit/queries.ts'
import { readAuditFilters } from '#lib/dashboard/audit.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { requirePermission } from '#lib/session/gate.ts'

const PAGE_SIZE = 50

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('audit'))('title') }
}

interface AuditPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export default async function AuditPage({ params, searchParams }: AuditPageProps) {
  const { account, mode } = await requirePermission(params, 'audit:read')
  const [t, search] = await Promise.all([getTranslations('audit'), searchParams])
  const options = { limit: PAGE_SIZE, isStaff: false }
  const { apiParams, filters, query } = readAuditFilters(search, account.timeZone, options)
  const { rows, nextCursor } = await listAudit({ staff: false, accountId: account.id }, query)
  return (
    <ClientMessages
      namespaces={['audit', 'auditAction', 'auditActor', 'auditField', 'auditGroup', 'auditValue']}
    >
      <PageHead title={t('title')} />
      <SettingsTabs mode={mode} current="audit" />
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-1">
        <p className="text-muted text-small">{t('ofAccount')}</p>
        <ExportAudit isStaff={false} filters={filters} />
      </div>
      <AuditList
        isStaff={false}
        query={apiParams}
        isFiltered={Object.keys(filters).length > 0}
        initialData={{ data: rows, next_cursor: nextCursor }}
      />
    </ClientMessages>
  )
}
