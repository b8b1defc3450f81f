import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ExportInbox, InboxFilters } from '#app/admin/reconciliation/filters.tsx'
import { ItemList } from '#app/admin/reconciliation/item-list.tsx'
import { OpenSummary } from '#app/admin/reconciliation/open-summary.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { requireAdmin } from '#lib/edge/session/gate.ts'
import { INBOX_KINDS } from '#lib/services/operator/inbox.ts'
import {
  listItemConnections,
  listItems,
  readInboxFilters,
  summarizeOpen,
} from '#lib/views/admin/inbox/list.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'

const PAGE_SIZE = 25

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('inbox'))('title') }
}

interface ReconciliationPageProps {
  searchParams: Promise<SearchParams>
}

export default async function ReconciliationPage({ searchParams }: ReconciliationPageProps) {
  await requireAdmin()
  const { cursor, ...filters } = readInboxFilters(await searchParams)
  const [t, { rows, nextCursor }, open, connections] = await Promise.all([
    getTranslations('inbox'),
    listItems({ ...filters, cursor, limit: PAGE_SIZE }),
    summarizeOpen(),
    listItemConnections(),
  ])
  return (
    <ClientMessages namespaces={['inbox']}>
      <PageHead title={t('title')} />
      <OpenSummary open={open} />
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <InboxFilters connections={connections} kinds={[...INBOX_KINDS]} />
        <ExportInbox filters={filters} />
      </div>
      <ItemList items={rows} nextCursor={nextCursor} />
    </ClientMessages>
  )
}
