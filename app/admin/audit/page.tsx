import type { Metadata } from 'next'
import { getTimeZone, getTranslations } from 'next-intl/server'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { AuditList, ExportAudit } from '#components/audit/list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { listAudit } from '#lib/audit/queries.ts'
import { staffAuditQuery } from '#lib/audit/schema.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { requireAdmin } from '#lib/session/gate.ts'

const PAGE_SIZE = 50

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('audit'))('title') }
}

interface AuditPageProps {
  searchParams: Promise<SearchParams>
}

export default async function StaffAuditPage({ searchParams }: AuditPageProps) {
  const user = await requireAdmin()
  const [t, timeZone] = await Promise.all([getTranslations('audit'), getTimeZone()])
  const { apiParams, filters, query } = readFilters(
    await searchParams,
    staffAuditQuery,
    timeZone,
    PAGE_SIZE,
  )
  const { rows, nextCursor } = await listAudit({ staff: true }, query)
  return (
    <ClientMessages
      namespaces={['audit', 'auditAction', 'auditActor', 'auditField', 'auditGroup', 'auditValue']}
    >
      <PageHead title={t('title')} />
      <div className="-mt-4 mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-1">
        <p className="text-muted text-small">{t('ofAll')}</p>
        <ExportAudit isStaff filters={filters} />
      </div>
      <Prefetched
        seeds={[
          seed(accountQueries.audit(readerFor('test', user, null), true, apiParams), {
            data: rows,
            next_cursor: nextCursor,
          }),
        ]}
      >
        <AuditList isStaff query={apiParams} />
      </Prefetched>
    </ClientMessages>
  )
}
