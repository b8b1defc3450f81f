'use client'

import { Plus, QrCode } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { AmountFilter } from '#app/[mode]/charges/amount-filter.tsx'
import { ChargeSummary } from '#app/[mode]/charges/summary.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type ListPage, useLivePage } from '#components/filters/live-page.ts'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/form/api.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { ChargeRows } from '#components/status/charge-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { SHOWN_CHARGE_STATUSES } from '#lib/charges/states.ts'

const REFRESH_MS = 4_000

interface ChargeListProps {
  apiParams: Record<string, string>
  /** API parameters without limit and cursor. */
  filters: Record<string, string>
  initialData: ListPage<ListedCharge>
}

export function ChargeList({ apiParams, filters, initialData }: ChargeListProps) {
  const t = useTranslations('charges')
  const urlFilters = useFilters()
  const path = `/dashboard/charges?${new URLSearchParams(apiParams)}`
  const { data, error } = useLivePage(path, initialData, REFRESH_MS)
  const clear = () => urlFilters.set(CLEARED_FILTERS)
  const isFiltered = Object.keys(filters).length > 0
  const isEmpty = data.data.length === 0
  return (
    <>
      <ChargeFilters {...urlFilters} />
      {isEmpty && !isFiltered ? null : <ChargeSummary filters={filters} clear={clear} />}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {isEmpty ? (
          <NoCharges clear={isFiltered ? clear : null} />
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

const CLEARED_FILTERS = Object.fromEntries(
  ['status', 'q', 'period', 'from', 'to', 'min_amount', 'max_amount'].map(name => [name, null]),
)

type FiltersProps = Pick<ReturnType<typeof useFilters>, 'get' | 'set'>

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
