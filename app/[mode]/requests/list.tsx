'use client'

import { useQuery } from '@tanstack/react-query'
import { ArrowLeftRight } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RequestFilters, type RequestKinds } from '#app/[mode]/requests/filters.tsx'
import { RequestRows } from '#app/[mode]/requests/rows.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import type { ListPage } from '#components/filters/live-page.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/form/api.ts'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { LoggedRequest } from '#lib/dashboard/requests/schema.ts'

const REFRESH_MS = 5_000
const FILTERS = ['status', 'method', 'path', 'code', 'token_id', 'period', 'from', 'to']
const CLEARED_FILTERS = Object.fromEntries(FILTERS.map(name => [name, null]))

interface RequestListProps {
  path: string
  kinds: RequestKinds
  initialData: ListPage<LoggedRequest>
}

export function RequestList({ path, kinds, initialData }: RequestListProps) {
  const filters = useFilters()
  const api = useApi()
  const { data, error } = useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<LoggedRequest>>(path, signal),
    initialData,
    refetchInterval: REFRESH_MS,
  })
  const isFiltered = FILTERS.some(name => filters.get(name) !== '')
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !isFiltered ? null : <RequestFilters {...filters} kinds={kinds} />}
      <ListBody error={error} isPending={filters.isPending} nextCursor={data.next_cursor}>
        {isEmpty ? (
          <NoRequests clear={isFiltered ? () => filters.set(CLEARED_FILTERS) : null} />
        ) : (
          <RequestRows requests={data.data} />
        )}
      </ListBody>
    </>
  )
}

function NoRequests({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations('requests')
  const { mode } = useApi().scope
  return (
    <Sheet>
      {clear ? (
        <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={clear} />
      ) : (
        <EmptyState icon={ArrowLeftRight} title={t('none')} text={t('noneText')}>
          <Link href={`/${mode}/settings/tokens`} prefetch={false} className={buttonClass('quiet')}>
            {t('toTokens')}
          </Link>
        </EmptyState>
      )}
    </Sheet>
  )
}
