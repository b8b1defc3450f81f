import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { FilteredList } from '#app/admin/filtered-list.tsx'
import { TokenLines } from '#app/admin/token-lines.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readListFilters } from '#lib/dashboard/url-filters.ts'
import { TOKEN_FILTERS } from '#lib/operator/schema.ts'
import { listTokenLines } from '#lib/operator/tokens.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('adminTokens'))('title') }
}

interface TokensPageProps {
  searchParams: Promise<SearchParams>
}

export default async function TokensPage({ searchParams }: TokensPageProps) {
  await requireAdmin()
  const filters = readListFilters(await searchParams, TOKEN_FILTERS)
  const [t, { rows, nextCursor }] = await Promise.all([
    getTranslations('adminTokens'),
    listTokenLines(filters),
  ])
  const statuses = TOKEN_FILTERS.map(value => ({ value, label: t(`filter.${value}`) }))
  return (
    <>
      <PageHead title={t('title')} />
      <ClientMessages namespaces={['accounts', 'adminTokens', 'adminDeed', 'tokens']}>
        <FilteredList namespace="adminTokens" {...{ statuses, nextCursor }}>
          {rows.length > 0 ? (
            <Sheet>
              <TokenLines tokens={rows} isMultiAccount />
            </Sheet>
          ) : null}
        </FilteredList>
      </ClientMessages>
    </>
  )
}
