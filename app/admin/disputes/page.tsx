import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { FilteredList } from '#app/admin/filtered-list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { DisputeRows } from '#components/status/dispute-rows.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { DISPUTE_FILTERS } from '#lib/charges/states.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readListFilters } from '#lib/dashboard/url-filters.ts'
import { listDisputeLines } from '#lib/operator/disputes.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('disputes'))('title') }
}

interface DisputesPageProps {
  searchParams: Promise<SearchParams>
}

export default async function DisputesPage({ searchParams }: DisputesPageProps) {
  await requireAdmin()
  const filters = readListFilters(await searchParams, DISPUTE_FILTERS)
  const [t, { rows, nextCursor }] = await Promise.all([
    getTranslations('disputes'),
    listDisputeLines(filters),
  ])
  const statuses = DISPUTE_FILTERS.map(value => ({ value, label: t(`filter.${value}`) }))
  const disputes = rows.map(({ account, ...dispute }) => ({
    ...dispute,
    subject: account.name,
    href: `/admin/disputes/${account.id}/${dispute.id}`,
  }))
  return (
    <>
      <PageHead title={t('title')} />
      <ClientMessages namespaces={['accounts', 'disputes']}>
        <FilteredList namespace="disputes" {...{ statuses, nextCursor }}>
          {disputes.length > 0 ? (
            <DisputeRows subjectHead={t('account')} disputes={disputes} />
          ) : null}
        </FilteredList>
      </ClientMessages>
    </>
  )
}
