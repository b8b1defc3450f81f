import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { FilteredList } from '#app/admin/filtered-list.tsx'
import { PersonList } from '#app/admin/people/person-list.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readListFilters } from '#lib/dashboard/url-filters.ts'
import { listPeople } from '#lib/operator/people.ts'
import { PERSON_FILTERS } from '#lib/operator/schema.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('adminPeople'))('title') }
}

interface PeoplePageProps {
  searchParams: Promise<SearchParams>
}

export default async function PeoplePage({ searchParams }: PeoplePageProps) {
  await requireAdmin()
  const filters = readListFilters(await searchParams, PERSON_FILTERS)
  const [t, { rows, nextCursor }] = await Promise.all([
    getTranslations('adminPeople'),
    listPeople(filters),
  ])
  const statuses = PERSON_FILTERS.map(value => ({ value, label: t(`filter.${value}`) }))
  return (
    <>
      <PageHead title={t('title')} />
      <ClientMessages namespaces={['accounts', 'adminPeople']}>
        <FilteredList namespace="adminPeople" {...{ statuses, nextCursor }}>
          {rows.length > 0 ? <PersonList people={rows} /> : null}
        </FilteredList>
      </ClientMessages>
    </>
  )
}
