'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ArrowUpRight } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useRejectionText } from '#components/api/problem.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ChoiceFilter, PeriodFilter, SearchFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, type Filters, useFilters } from '#components/filters/use-filters.ts'
import { Money } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { amountColumn, createdColumn, referenceColumn } from '#components/status/payment-rows.tsx'
import { WithdrawalState } from '#components/status/state-chips.tsx'
import { WaitingNotice } from '#components/status/waiting.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { maskPixKey, normalizePixKey } from '#lib/core/pix/pix-key.ts'
import type { RejectionFields } from '#lib/dashboard/schema.ts'
import type { ListedWithdrawal, ListedWithdrawalPage } from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'

interface WithdrawalListProps {
  query: QueryOf<'/dashboard/withdrawals'>
  /** The query without limit and cursor. */
  filters: QueryOf<'/dashboard/withdrawals'>
}

export function WithdrawalList({ query, filters }: WithdrawalListProps) {
  const api = useApi()
  const urlFilters = useFilters<FilterName<'/dashboard/withdrawals'>>()
  const { data, error } = useSuspenseQuery(withdrawalQueries.list(api, query))
  return (
    <>
      <WaitingNotice />
      <WithdrawalFilters {...urlFilters} />
      {data.data.length > 0 ? (
        <div className="mb-2 flex flex-wrap items-center gap-x-5 gap-y-1 text-small">
          <Total {...data.total} />
          <ExportWithdrawals filters={filters} />
        </div>
      ) : null}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {data.data.length > 0 ? (
          <WithdrawalRows withdrawals={data.data} />
        ) : (
          <NoWithdrawals clear={urlFilters.isSet ? urlFilters.clear : null} />
        )}
      </ListBody>
    </>
  )
}

type FiltersProps = Pick<Filters<FilterName<'/dashboard/withdrawals'>>, 'get' | 'set'>

function WithdrawalFilters({ get, set }: FiltersProps) {
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

/** Count and sum of all pages. */
function Total({ count, amount, is_exact }: ListedWithdrawalPage['total']) {
  const t = useTranslations('withdrawals')
  return (
    <p className="flex min-h-[22px] flex-wrap gap-x-4" data-testid="withdrawal-total">
      <span className="font-semibold">{t(is_exact ? 'count' : 'countMore', { count })}</span>
      <span>
        {is_exact ? null : <span className="text-muted">≥ </span>}
        <Money cents={amount} /> <span className="text-muted">{t('sum')}</span>
      </span>
    </p>
  )
}

function ExportWithdrawals({ filters }: { filters: QueryOf<'/dashboard/withdrawals'> }) {
  const t = useTranslations('withdrawals')
  const api = useApi()
  const query = { ...filters, locale: useLocale() }
  return (
    <ExportButton
      read={signal => api.fetchRaw('/dashboard/withdrawals/export', { query, signal })}
      labels={{
        save: t('export'),
        stop: t('stop'),
        broken: t('exportBroken'),
        saving: rows => t('exporting', { rows }),
        saved: rows => t('exported', { rows }),
      }}
    />
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
  withdrawals: ListedWithdrawal[]
}

function WithdrawalRows({ withdrawals }: WithdrawalRowsProps) {
  const t = useTranslations('withdrawals')
  const rejectionText = useRejectionText()
  const columns: Column<ListedWithdrawal>[] = [
    {
      head: t('receiver'),
      cell: withdrawal => <ReceiverLink withdrawal={withdrawal} />,
      card: 'title',
    },
    referenceColumn(t('reference')),
    {
      head: t('status'),
      width: '208px',
      cell: withdrawal => <WithdrawalState {...withdrawal} />,
      note: withdrawal =>
        rejectionText({
          rejection_code: withdrawal.rejection_code as RejectionFields['rejection_code'],
          rejection_params: { text: withdrawal.rejection_reason ?? '' },
        }),
      card: 'right',
    },
    createdColumn(t('created')),
    amountColumn(t('amount')),
  ]
  return (
    <DataList label={t('title')} columns={columns} items={withdrawals} keyOf={({ id }) => id} />
  )
}

/** The receiver as the bank names it, else the readable part of the key; below it, what else tells it apart. */
function ReceiverLink({ withdrawal }: { withdrawal: ListedWithdrawal }) {
  const t = useTranslations('pixKey')
  const { id, mode, pix_key_type: type, pix_key, payee, memo } = withdrawal
  const normalized = normalizePixKey(type, pix_key, 'form')
  const key = maskPixKey(type, normalized.ok ? normalized.key : pix_key)
  const about = payee ? [payee.masked_doc ?? key, memo] : [memo ?? t(type)]
  return (
    <Link
      href={`/${mode}/withdrawals/${id}`}
      prefetch={false}
      className={`block font-medium ${ROW_LINK}`}
    >
      <span className={TWO_LINES}>{payee ? payee.name : key}</span>
      <span className="flex flex-wrap gap-x-2.5 font-normal text-muted text-small">
        {about.map(part =>
          part ? (
            <span key={part} className="wrap-anywhere">
              {part}
            </span>
          ) : null,
        )}
      </span>
    </Link>
  )
}
