'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { FilterChip } from '#components/filters/filter-chip.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { dateFormat } from '#lib/core/locale.ts'
import { MONTH, PERIODS } from '#lib/dashboard/schema.ts'

const PeriodDialog = lazyDialog(
  () => import('#components/filters/period-dialogs.tsx'),
  'PeriodDialog',
)

const CHOICES = [...PERIODS.filter(period => period !== 'custom'), 'month', 'custom'] as const

interface PeriodFilterProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

/** Filters by days in the merchant's time zone. */
export function PeriodFilter({ get, set }: PeriodFilterProps) {
  const t = useTranslations('period')
  const [dialog, setDialog] = useState<'month' | 'custom' | null>(null)
  const period = get('period')
  const text = usePeriodText(get)
  const choices = CHOICES.map(value => ({ value, label: t(value) }))
  function choose(value: string) {
    if (value === 'custom' || value === 'month') setDialog(value)
    else set({ period: value || null, from: null, to: null })
  }
  return (
    <>
      <FilterChip
        label={t('label')}
        value={text}
        onClear={() => choose('')}
        anyLabel={t('all')}
        menu={{
          value: MONTH.test(period) ? 'month' : text === null ? '' : period,
          choices: [{ value: '', label: t('all') }, ...choices],
          onChoose: choose,
        }}
      />
      {dialog ? (
        <PeriodDialog what={dialog} get={get} set={set} onClose={() => setDialog(null)} />
      ) : null}
    </>
  )
}

/** Returns the name of the chosen period; null if there is none. */
function usePeriodText(get: (name: string) => string): string | null {
  const t = useTranslations('period')
  const locale = useLocale()
  const period = get('period')
  const formatDay = (day: string, options: Intl.DateTimeFormatOptions) => {
    const date = new Date(`${day}T00:00:00Z`)
    if (Number.isNaN(date.getTime())) return '…'
    return dateFormat(locale, { ...options, timeZone: 'UTC' }).format(date)
  }
  if (MONTH.test(period)) return formatDay(`${period}-01`, { month: 'long', year: 'numeric' })
  if (period === 'custom') {
    const [from, to] = ['from', 'to'].map(name => formatDay(get(name), { dateStyle: 'medium' }))
    return t('range', { from: from ?? '…', to: to ?? '…' })
  }
  const known = PERIODS.find(value => value === period)
  return known ? t(known) : null
}
