'use client'

import { ArrowUpRight } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChoiceFilter } from '#components/filters/filter-chip.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type ListPage, useLivePage } from '#components/filters/live-page.ts'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/nav/api-provider.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { WithdrawalState } from '#components/status/state-chips.tsx'
import { useWaiting, WaitingNotice } from '#components/status/waiting.tsx'
import { AmountRows } from '#components/ui/amount-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import { maskPixKey, normalizePixKey } from '#lib/base/pix/pix-key.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/rooms/withdrawals/states.ts'
import type { WaitingWithdrawal } from '#lib/views/dashboard/schema.ts'

const REFRESH_MS = 2_000
const CLEARED_FILTERS = { status: null, period: null, from: null, to: null, q: null }

interface WithdrawalListProps {
  path: string
  initialData: ListPage<WithdrawalRow>
  initialWaiting: WaitingWithdrawal[]
}

export function WithdrawalList({ path, initialData, initialWaiting }: WithdrawalListProps) {
  const filters = useFilters()
  const { data, error } = useLivePage(path, initialData, REFRESH_MS)
  const waiting = useWaiting(initialWaiting)
  const isFiltered = ['status', 'period', 'q'].some(name => filters.get(name) !== '')
  return (
    <>
      <WaitingNotice waiting={waiting} />
      <WithdrawalFilters {...filters} />
      <ListBody error={error} isPending={filters.isPending} nextCursor={data.next_cursor}>
        {data.data.length > 0 ? (
          <WithdrawalRows withdrawals={data.data} waiting={waiting} />
        ) : (
          <NoWithdrawals clear={isFiltered ? () => filters.set(CLEARED_FILTERS) : null} />
        )}
      </ListBody>
    </>
  )
}

function WithdrawalFilters({ get, set }: Pick<ReturnType<typeof useFilters>, 'get' | 'set'>) {
  const t = useTranslations()
  const choices = WITHDRAWAL_STATUSES.map(value => ({
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
  const { scope } = useApi()
  return (
    <Sheet>
      {clear ? (
        <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={clear} />
      ) : (
        <EmptyState icon={ArrowUpRight} title={t('none')} text={t('noneText')}>
          <IfAllowed permission="withdrawals:write">
            <Link
              href={`/${scope.mode}/withdrawals/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              {t('new')}
            </Link>
          </IfAllowed>
        </EmptyState>
      )}
    </Sheet>
  )
}

interface WithdrawalRowsProps {
  withdrawals: WithdrawalRow[]
  waiting: WaitingWithdrawal[]
}

function WithdrawalRows({ withdrawals, waiting }: WithdrawalRowsProps) {
  const t = useTranslations('withdrawals')
  const waitingIds = new Set(waiting.map(({ id }) => id))
  const rows = withdrawals.map(withdrawal => ({
    ...withdrawal,
    state: <WithdrawalState status={withdrawal.status} isWaiting={waitingIds.has(withdrawal.id)} />,
    subject: <PixKeyLink withdrawal={withdrawal} />,
  }))
  const heads = {
    subject: t('key'),
    reference: t('reference'),
    status: t('status'),
    created: t('created'),
    amount: t('amount'),
  }
  return <AmountRows label={t('title')} heads={heads} statusWidth="216px" rows={rows} />
}

function PixKeyLink({ withdrawal }: { withdrawal: WithdrawalRow }) {
  const t = useTranslations('pixKey')
  const { id, mode, pix_key_type: type, pix_key } = withdrawal
  const normalized = normalizePixKey(type, pix_key, 'form')
  return (
    <Link href={`/${mode}/withdrawals/${id}`} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className="block truncate">
        {maskPixKey(type, normalized.ok ? normalized.key : pix_key)}
      </span>
      <span className="block font-normal text-muted text-small">{t(type)}</span>
    </Link>
  )
}
