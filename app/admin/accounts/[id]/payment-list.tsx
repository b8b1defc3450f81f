'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChoiceFilter, PeriodFilter, SearchFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type Filters, type PeriodName, useFilters } from '#components/filters/use-filters.ts'
import { amountColumn, createdColumn, referenceColumn } from '#components/status/payment-rows.tsx'
import { ChargeStateChip, WithdrawalState } from '#components/status/state-chips.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { SHOWN_CHARGE_STATUSES, type ShownChargeStatus } from '#lib/charges/states.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import type { PaymentLine } from '#lib/operator/schema.ts'
import { WITHDRAWAL_STATUSES, type WithdrawalStatus } from '#lib/withdrawals/states.ts'

interface PaymentListProps {
  kind: 'charges' | 'withdrawals'
  accountId: string
  mode: Mode
  rows: PaymentLine[]
  nextCursor: string | null
}

export function PaymentList({ kind, accountId, mode, rows, nextCursor }: PaymentListProps) {
  const t = useTranslations('adminPayments')
  const filters = useFilters<PaymentFilter>('mode')
  return (
    <>
      <PaymentFilters kind={kind} mode={mode} {...filters} />
      <ListBody error={null} isPending={filters.isPending} nextCursor={nextCursor}>
        {rows.length > 0 ? (
          <PaymentRows kind={kind} accountId={accountId} rows={rows} />
        ) : filters.isSet ? (
          <Sheet>
            <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={filters.clear} />
          </Sheet>
        ) : (
          <Sheet className="px-4 py-10 text-center text-muted">{t(`none.${mode}.${kind}`)}</Sheet>
        )}
      </ListBody>
    </>
  )
}

type PaymentFilter = 'q' | 'status' | 'mode' | PeriodName

type FiltersProps = Pick<PaymentListProps, 'kind' | 'mode'> &
  Pick<Filters<PaymentFilter>, 'get' | 'set'>

function PaymentFilters({ kind, mode, get, set }: FiltersProps) {
  const t = useTranslations()
  const statuses =
    kind === 'charges'
      ? SHOWN_CHARGE_STATUSES.map(value => ({ value, label: t(`chargeStatus.${value}`) }))
      : WITHDRAWAL_STATUSES.map(value => ({ value, label: t(`withdrawalStatus.${value}`) }))
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <fieldset className="flex gap-2">
        <legend className="sr-only">{t('adminPayments.mode.label')}</legend>
        {[...MODES].reverse().map(value => (
          <button
            key={value}
            type="button"
            aria-pressed={value === mode}
            onClick={() => set({ mode: value })}
            className="inline-flex h-9 items-center rounded-chip border border-line2 bg-surface px-3.5 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
          >
            {t(`adminPayments.mode.${value}`)}
          </button>
        ))}
      </fieldset>
      <SearchFilter
        label={t('adminPayments.search')}
        value={get('q')}
        onSearch={q => set({ q }, true)}
      />
      <ChoiceFilter
        label={t('adminPayments.status')}
        value={get('status')}
        choices={statuses}
        onChoose={status => set({ status })}
      />
      <PeriodFilter get={get} set={set} />
    </div>
  )
}

function PaymentRows({ kind, accountId, rows }: Omit<PaymentListProps, 'mode' | 'nextCursor'>) {
  const t = useTranslations('adminPayments')
  const isOfCharges = kind === 'charges'
  const columns: Column<PaymentLine>[] = [
    {
      head: t(`subject.${kind}`),
      cell: ({ id, subject }) => (
        <Link
          href={`/admin/accounts/${accountId}?charge=${id}#payment`}
          prefetch={false}
          className={`block font-medium ${ROW_LINK}`}
        >
          <span className={`${TWO_LINES} ${isOfCharges ? 'font-mono text-[13px]' : ''}`}>
            {subject}
          </span>
        </Link>
      ),
      title: ({ subject }) => subject,
      card: 'title',
    },
    referenceColumn(t('reference')),
    {
      head: t('status'),
      width: isOfCharges ? '196px' : '216px',
      cell: ({ status }) =>
        isOfCharges ? (
          <ChargeStateChip status={status as ShownChargeStatus} />
        ) : (
          <WithdrawalState status={status as WithdrawalStatus} />
        ),
      card: 'right',
    },
    createdColumn(t('created')),
    amountColumn(t('amount')),
  ]
  return <DataList label={t(kind)} columns={columns} items={rows} keyOf={({ id }) => id} />
}
