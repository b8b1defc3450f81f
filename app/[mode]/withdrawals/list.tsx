'use client'

import { ArrowUpRight } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { WithdrawalRows } from '#app/[mode]/withdrawals/rows.tsx'
import { ChoiceFilter } from '#components/filters/filter-chip.tsx'
import { ListBody, NoneFit } from '#components/filters/list-body.tsx'
import { type ListPage, useLivePage } from '#components/filters/live-page.ts'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { IfMay } from '#components/nav/may.tsx'
import { useApi } from '#components/nav/world.tsx'
import { STATUSES } from '#components/status/state-chips.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'

const LIVE_MS = 2_000
const UNSET = { status: null, period: null, from: null, to: null, q: null }

interface ListProps {
  /** The page's filters as the API takes them. */
  path: string
  first: ListPage<WithdrawalRow>
}

/** The withdrawals that the address asks for; they are read again while one of them is pending. */
export function WithdrawalList({ path, first }: ListProps) {
  const filters = useFilters()
  const { data, error } = useLivePage(path, first, LIVE_MS)
  const isFiltered = ['status', 'period', 'q'].some(name => filters.get(name) !== '')
  return (
    <>
      <Filters {...filters} />
      <ListBody error={error} isPending={filters.isPending} nextCursor={data.next_cursor}>
        {data.data.length > 0 ? (
          <WithdrawalRows withdrawals={data.data} />
        ) : (
          <NoWithdrawals clear={isFiltered ? () => filters.set(UNSET) : null} />
        )}
      </ListBody>
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
  const t = useTranslations('withdrawals')
  const { world } = useApi()
  return (
    <Sheet>
      {clear ? (
        <NoneFit title={t('noneFit')} text={t('noneFitText')} clear={clear} />
      ) : (
        <Empty icon={ArrowUpRight} title={t('none')} text={t('noneText')}>
          <IfMay do="withdrawals:write">
            <Link
              href={`/${world.mode}/withdrawals/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              {t('new')}
            </Link>
          </IfMay>
        </Empty>
      )}
    </Sheet>
  )
}
