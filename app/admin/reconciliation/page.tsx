import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import {
  DifferenceFilterBar,
  ExportDifferences,
  ItemList,
} from '#app/admin/reconciliation/item-list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { DIFFERENCE_KINDS } from '#lib/differences/differences.ts'
import {
  listItemConnections,
  listItems,
  readDifferenceFilters,
  summarizeOpen,
} from '#lib/operator/differences/differences.ts'
import type { DifferenceSummary } from '#lib/operator/differences/schema.ts'
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
        <DifferenceFilterBar connections={connections} kinds={[...DIFFERENCE_KINDS]} />
        <ExportDifferences filters={filters} />
      </div>
      <ItemList items={rows} nextCursor={nextCursor} />
    </ClientMessages>
  )
}

/** Count, age and sum of the open items. */
function OpenSummary({ open }: { open: DifferenceSummary }) {
  const t = useTranslations('differences')
  const { count, amount, oldest_at: oldestAt } = open
  return (
    <Sheet className="mb-5 px-4 py-4 md:px-6">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 md:grid-cols-3">
        <div>
          <dt className="text-muted text-small">{t('open')}</dt>
          <dd className="font-semibold text-title tabular-nums" data-testid="open-count">
            {count}
          </dd>
        </div>
        <div>
          <dt className="text-muted text-small">{t('oldest')}</dt>
          <dd className="font-semibold text-title">
            {oldestAt ? <RelativeTime at={oldestAt} /> : '—'}
          </dd>
        </div>
        <div className="col-span-2 md:col-span-1">
          <dt className="text-muted text-small">{t('held')}</dt>
          <dd className="flex flex-wrap items-baseline gap-x-2">
            <span className="font-semibold text-title">
              <Money cents={amount.live} />
            </span>
            <span className="text-muted text-small">
              {t('inTest')} <Money cents={amount.test} />
            </span>
          </dd>
        </div>
      </dl>
    </Sheet>
  )
}
