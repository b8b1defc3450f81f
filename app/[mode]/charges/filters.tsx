'use client'

import { useTranslations } from 'next-intl'
import { AmountFilter } from '#app/[mode]/charges/amount-filter.tsx'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import type { useFilters } from '#components/filters/use-filters.ts'
import { CHARGE_STATUSES } from '#lib/rooms/charges/states.ts'

/** Every filter of the list, let go. */
export const UNSET = Object.fromEntries(
  ['status', 'q', 'period', 'from', 'to', 'amount_from', 'amount_to'].map(name => [name, null]),
)

type FiltersProps = Pick<ReturnType<typeof useFilters>, 'get' | 'set'>

export function ChargeFilters({ get, set }: FiltersProps) {
  const t = useTranslations('charges')
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <SearchFilter label={t('search')} value={get('q')} onSearch={q => set({ q }, true)} />
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

/** One press to the charges of one state: on a phone they stand in a line that scrolls. */
function StatusChips({ chosen, onChoose }: StatusChipsProps) {
  const t = useTranslations('charges')
  return (
    <fieldset className="-mx-4 flex min-w-0 basis-full gap-2 overflow-x-auto px-4 py-1 md:mx-0 md:px-0">
      <legend className="sr-only">{t('status')}</legend>
      {(['all', ...CHARGE_STATUSES] as const).map(status => (
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
