import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { SettingsTabs } from '#app/[mode]/settings/settings-tabs.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { AuditList, ExportAudit } from '#components/audit/list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { listAudit } from '#lib/audit/queries.ts'
import { auditQuery } from '#lib/audit/schema.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
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
  const { account, mode, user } = await requirePermission(params, 'settings/audit')
  const [t, search] = await Promise.all([getTranslations('audit'), searchParams])
  const { apiParams, filters, query } = readFilters(search, auditQuery, account.timeZone, PAGE_SIZE)
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
      <Prefetched
        seeds={[
          seed(accountQueries.audit(readerFor(mode, user, account), false, apiParams), {
            data: rows,
            next_cursor: nextCursor,
          }),
        ]}
      >
        <AuditList isStaff={false} query={apiParams} />
      </Prefetched>
    </ClientMessages>
  )
}
