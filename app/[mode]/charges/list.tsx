'use client'

import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { ChevronDown, FunnelX, Plus, QrCode, X } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ExportButton } from '#components/filters/export-button.tsx'
import { PeriodFilter, SearchFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, type Filters, useFilters } from '#components/filters/use-filters.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { chargeQueries } from '#components/queries/charges.ts'
import { ChargeRows } from '#components/status/payment-rows.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { EmptyState, Sheet, Skeleton } from '#components/ui/sheet.tsx'
import { SHOWN_CHARGE_STATUSES } from '#lib/charges/states.ts'

/** The query of the list without limit and cursor. */
type ChargeFilters = QueryOf<'/dashboard/charges/totals'>

interface ChargeListProps {
  query: QueryOf<'/dashboard/charges'>
  /** API parameters without limit and cursor. */
  filters: ChargeFilters
}

export function ChargeList({ query, filters }: ChargeListProps) {
  const t = useTranslations('charges')
  const api = useApi()
  const urlFilters = useFilters<FilterName<'/dashboard/charges'>>()
  const { data, error } = useSuspenseQuery(chargeQueries.list(api, query))
  const { clear, isSet } = urlFilters
  const isEmpty = data.data.length === 0
  return (
    <>
      <ChargeFilters {...urlFilters} />
      {isEmpty && !isSet ? null : <ChargeSummary filters={filters} clear={clear} />}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {isEmpty ? (
          <NoCharges clear={isSet ? clear : null} />
        ) : (
          <ChargeRows label={t('title')} createdLabel={t('created')} charges={data.data} />
        )}
      </ListBody>
    </>
  )
}

function NoCharges({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations('charges')
  const { scope } = useApi()
  const hasPermission = useHasPermission()
  const hint = hasPermission('payers:read') ? 'noneFitText' : 'noneFitMasked'
  const canCreate = hasPermission('transactions:write')
  return (
    <Sheet>
      {clear ? (
        <NoMatches title={t('noneFit')} text={t(hint)} clear={clear} />
      ) : (
        <EmptyState icon={QrCode} title={t('none')} text={canCreate && t('noneText')}>
          {canCreate ? (
            <Link
              href={`/${scope.mode}/charges/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              <Plus size={17} aria-hidden />
              {t('new')}
            </Link>
          ) : null}
        </EmptyState>
      )}
    </Sheet>
  )
}

type FiltersProps = Pick<Filters<FilterName<'/dashboard/charges'>>, 'get' | 'set'>

function ChargeFilters({ get, set }: FiltersProps) {
  const t = useTranslations('charges')
  const label = t(useHasPermission()('payers:read') ? 'search' : 'searchMasked')
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <SearchFilter label={label} value={get('q')} onSearch={q => set({ q }, true)} />
      <PeriodFilter get={get} set={set} />
      <AmountFilter get={get} set={set} />
      <StatusChips chosen={get('status')} onChoose={status => set({ status })} />
    </div>
  )
}

interface StatusChipsProps {
  chosen: string
  onChoose: (status: string | null) => void
}

function StatusChips({ chosen, onChoose }: StatusChipsProps) {
  const t = useTranslations('charges')
  return (
    <fieldset className="flex min-w-0 basis-full gap-2 overflow-x-auto py-1">
      <legend className="sr-only">{t('status')}</legend>
      {(['all', ...SHOWN_CHARGE_STATUSES] as const).map(status => (
        <button
          key={status}
          type="button"
          aria-pressed={status === (chosen || 'all')}
          onClick={() => onChoose(status === 'all' ? null : status)}
          className="inline-flex h-9 shrink-0 items-center rounded-chip border border-line2 bg-surface px-3.5 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
        >
          {t(`every.${status}`)}
        </button>
      ))}
    </fieldset>
  )
}

const AmountDialog = lazyDialog(
  () => import('#app/[mode]/charges/amount-dialog.tsx'),
  'AmountDialog',
)

const CHIP_CLASS =
  'inline-flex h-9 items-center gap-1.5 border bg-surface font-medium text-small transition-colors duration-150'
const UNSET_CLASS = 'border-line2 text-muted hover:text-ink'
const SET_CLASS = 'border-accent bg-accent-soft text-accent'

/** Filters by minimum and maximum amount. The URL contains them in cents. */
function AmountFilter({ get, set }: FiltersProps) {
  const t = useTranslations()
  const [isOpen, setOpen] = useState(false)
  const text = useRangeText(get('min_amount'), get('max_amount'))
  const stateClass = text === null ? UNSET_CLASS : SET_CLASS
  return (
    <span className="inline-flex">
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
        className={`${CHIP_CLASS} ${stateClass} px-3.5 ${text === null ? 'rounded-chip' : 'rounded-l-chip border-r-0 pr-2'}`}
      >
        {t('charges.amount')}: {text ?? t('charges.amountAny')}
        {text === null ? <ChevronDown size={14} aria-hidden /> : null}
      </button>
      {text === null ? null : (
        <button
          type="button"
          onClick={() => set({ min_amount: null, max_amount: null })}
          aria-label={`${t('ui.clear')}: ${t('charges.amount')}`}
          className={`${CHIP_CLASS} ${stateClass} rounded-r-chip border-l-0 pr-3 pl-1`}
        >
          <X size={15} aria-hidden />
        </button>
      )}
      {isOpen ? (
        <AmountDialog
          from={parseCents(get('min_amount'))}
          to={parseCents(get('max_amount'))}
          onClose={() => setOpen(false)}
          onChoose={(from, to) => {
            setOpen(false)
            set({ min_amount: from, max_amount: to })
          }}
        />
      ) : null}
    </span>
  )
}

/** Parses an amount in cents; null if absent or invalid, which the server ignores too. */
function parseCents(text: string): number | null {
  return /^\d{1,12}$/.test(text) ? Number(text) : null
}

function useRangeText(fromParam: string, toParam: string): string | null {
  const t = useTranslations('charges')
  const locale = useLocale()
  const [from, to] = [fromParam, toParam].map(text => {
    const amount = parseCents(text)
    return amount === null ? null : moneyText(amount, locale)
  })
  if (from && to) return t('between', { from, to })
  return from ? t('atLeast', { from }) : to ? t('atMost', { to }) : null
}

interface ChargeSummaryProps {
  filters: ChargeFilters
  clear: () => void
}

function ChargeSummary({ filters, clear }: ChargeSummaryProps) {
  const t = useTranslations()
  const count = countFilters(filters)
  return (
    <div className="mb-2 flex flex-wrap items-center gap-x-5 gap-y-1 text-small">
      <Totals filters={filters} />
      {count > 0 ? (
        <p className="flex flex-wrap items-center gap-x-3 text-muted">
          {t('charges.filters', { count })}
          <button
            type="button"
            onClick={() => clear()}
            className="inline-flex min-h-8 items-center gap-1.5 font-semibold text-accent hover:underline"
          >
            <FunnelX size={15} aria-hidden />
            {t('ui.clearAll')}
          </button>
        </p>
      ) : null}
      <Exports filters={filters} />
    </div>
  )
}

/** Counts the filters. The bounds of a period, or of an amount, count as one filter. */
function countFilters(filters: ChargeFilters): number {
  return new Set(Object.keys(filters).map(name => name.replace(/_(from|to)$/, ''))).size
}

function Totals({ filters }: Pick<ChargeSummaryProps, 'filters'>) {
  const t = useTranslations('charges')
  const api = useApi()
  const { data, error } = useQuery(chargeQueries.totals(api, filters))
  if (!data && error) return <p className="text-muted">{t('totalFailed')}</p>
  if (!data) return <Skeleton className="h-[22px] w-[330px] max-w-full" />
  const { count, amount, paid_amount, is_exact } = data
  const atLeast = is_exact ? null : <span className="text-muted">{t('more')} </span>
  return (
    <p className="flex min-h-[22px] flex-wrap gap-x-4" data-testid="charge-totals">
      <span className="font-semibold">
        {is_exact ? t('count', { count }) : t('countMore', { count })}
      </span>
      <span>
        {atLeast}
        <Money cents={amount} /> <span className="text-muted">{t('sum')}</span>
      </span>
      <span>
        {atLeast}
        <Money cents={paid_amount} /> <span className="text-muted">{t('sumPaid')}</span>
      </span>
    </p>
  )
}

/** The refunds are those of the period, whatever the other filters: they are of paid charges. */
function Exports({ filters }: Pick<ChargeSummaryProps, 'filters'>) {
  const t = useTranslations('charges')
  const locale = useLocale()
  const { created_from, created_to } = filters
  const api = useApi()
  const period = { ...(created_from && { created_from }), ...(created_to && { created_to }) }
  const labels = {
    stop: t('stop'),
    broken: t('exportBroken'),
    saving: (rows: number) => t('exporting', { rows }),
  }
  return (
    <div className="flex flex-wrap items-center gap-x-5 md:ml-auto">
      <ExportButton
        read={signal =>
          api.fetchRaw('/dashboard/charges/export', { query: { ...filters, locale }, signal })
        }
        labels={{ ...labels, save: t('export'), saved: rows => t('exported', { rows }) }}
      />
      <ExportButton
        read={signal =>
          api.fetchRaw('/dashboard/refunds/export', { query: { ...period, locale }, signal })
        }
        labels={{
          ...labels,
          save: t('exportRefunds'),
          saved: rows => t('exportedRefunds', { rows }),
        }}
      />
    </div>
  )
}
