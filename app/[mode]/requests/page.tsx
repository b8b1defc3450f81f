import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { RequestList } from '#app/[mode]/requests/list.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { requestsQuery } from '#lib/dashboard/requests/schema.ts'
import { listRequestKinds, listRequests } from '#lib/dashboard/requests.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import { listTokens } from '#lib/tokens/queries.ts'

interface RequestsPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('requests'))('title') }
}

export default async function RequestsPage({ params, searchParams }: RequestsPageProps) {
  const { account, mode, user } = await requireMember(params)
  const [t, search] = await Promise.all([getTranslations('requests'), searchParams])
  const { apiParams, query } = readFilters(search, requestsQuery, account.timeZone)
  const [{ rows, nextCursor }, tokens, kinds] = await Promise.all([
    listRequests(account.id, mode, query),
    listTokens(account.id, mode),
    listRequestKinds(account.id, mode),
  ])
  const shown = hideFromViewer(user, {
    tokens: tokens.map(({ id, name }) => ({ id, name })),
    rows,
  })
  return (
    <ClientMessages namespaces={['requests']}>
      <PageHead title={t('title')} />
      <p className="-mt-4 mb-5 max-w-[72ch] text-muted">{t('about')}</p>
      <Prefetched
        seeds={[
          seed(accountQueries.requests(readerFor(mode, user, account), apiParams), {
            data: shown.rows,
            next_cursor: nextCursor,
          }),
        ]}
      >
        <RequestList query={apiParams} kinds={{ ...kinds, tokens: shown.tokens }} />
      </Prefetched>
    </ClientMessages>
  )
}
