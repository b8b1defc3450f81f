import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { DifferenceFilters, ExportDifferences } from '#app/admin/reconciliation/filters.tsx'
import { ItemList } from '#app/admin/reconciliation/item-list.tsx'
import { OpenSummary } from '#app/admin/reconciliation/open-summary.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { DIFFERENCE_KINDS } from '#lib/differences/differences.ts'
import {
  listItemConnections,
  listItems,
  readDifferenceFilters,
  summarizeOpen,
} from '#lib/operator/differences/list.ts'
import { requireAdmin } from '#lib/session/gate.ts'

const PAGE_SIZE = 25

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('differences'))('title') }
}

interface ReconciliationPageProps {
  searchParams: Promise<SearchParams>
}

export default async function ReconciliationPage({ searchParams }: ReconciliationPageProps) {
  await requireAdmin()
  const { cursor, ...filters } = readDifferenceFilters(await searchParams)
  const [t, { rows, nextCursor }, open, connections] = await Promise.all([
    getTranslations('differences'),
    listItems({ ...filters, cursor, limit: PAGE_SIZE }),
    summarizeOpen(),
    listItemConnections(),
  ])
  return (
    <ClientMessages namespaces={['differences']}>
      <PageHead title={t('title')} />
      <OpenSummary open={open} />
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <DifferenceFilters connections={connections} kinds={[...DIFFERENCE_KINDS]} />
        <ExportDifferences filters={filters} />
      </div>
      <ItemList items={rows} nextCursor={nextCursor} />
    </ClientMessages>
  )
}
