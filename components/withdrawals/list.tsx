'use client'

import { useQuery } from '@tanstack/react-query'
import { ArrowUpRight, SearchX } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChoiceFilter } from '#components/filters/filter-chip.tsx'
import { Pager } from '#components/filters/pager.tsx'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { IfMay } from '#components/may.tsx'
import { Problem } from '#components/problem.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { WithdrawalRows } from '#components/withdrawals/rows.tsx'
import { STATUSES } from '#components/withdrawals/status.tsx'
import { useApi } from '#components/world.tsx'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

const LIVE_MS = 2_000
const UNSET = { status: null, period: null, from: null, to: null, q: null }

interface Page {
  data: WithdrawalRow[]
  next_cursor: string | null
}

interface ListProps {
  /** The page's filters as the API takes them. */
  path: string
  first: Page
}

/** The withdrawals that the address asks for; they are read again while one of them is pending. */
export function WithdrawalList({ path, first }: ListProps) {
  const api = useApi()
  const filters = useFilters()
  const { data, error } = useQuery({
    queryKey: ['withdrawals', api.world, path],
    queryFn: ({ signal }) => api.get<Page>(path, signal),
    initialData: first,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'pending') ? LIVE_MS : false,
  })
  const isFiltered = ['status', 'period', 'q'].some(name => filters.get(name) !== '')
  return (
    <>
      <Filters {...filters} />
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div
        aria-busy={filters.isPending}
        className="transition-opacity duration-150 aria-busy:opacity-60"
      >
        {data.data.length > 0 ? (
          <WithdrawalRows withdrawals={data.data} />
        ) : (
          <NoWithdrawals clear={isFiltered ? () => filters.set(UNSET) : null} />
        )}
        <Pager nextCursor={data.next_cursor} />
      </div>
    </>
  )
}

function Filters({ get, set }: Pick<ReturnType<typeof useFilters>, 'get' | 'set'>) {
  const t = useTranslations()
  const choices = STATUSES.map(value => ({
    value,
    label: t(`withdrawalStatus.${value}`),
  }))
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchFilter
        label={t('withdrawals.search')}
        value={get('q')}
        onSearch={q => set({ q }, true)}
      />
      <ChoiceFilter
        label={t('withdrawals.status')}
        value={get('status')}
        choices={choices}
        onChoose={status => set({ status })}
      />
      <PeriodFilter get={get} set={set} />
    </div>
  )
}

function NoWithdrawals({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations()
  const { world } = useApi()
  return (
    <Sheet>
      {clear ? (
        <Empty icon={SearchX} title={t('withdrawals.noneFit')} text={t('withdrawals.noneFitText')}>
          <Button look="quiet" onClick={clear}>
            {t('ui.clearAll')}
          </Button>
        </Empty>
      ) : (
        <Empty icon={ArrowUpRight} title={t('withdrawals.none')} text={t('withdrawals.noneText')}>
          <IfMay do="withdrawals:write">
            <Link
              href={`/${world.mode}/withdrawals/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              {t('withdrawals.new')}
            </Link>
          </IfMay>
        </Empty>
      )}
    </Sheet>
  )
}
