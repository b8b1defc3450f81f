'use client'

import { useQuery } from '@tanstack/react-query'
import { FunnelX } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { ExportButton } from '#components/filters/export-button.tsx'
import { useApi } from '#components/form/api.ts'
import { Money } from '#components/format/format.tsx'
import { Skeleton } from '#components/ui/sheet.tsx'
import type { ChargeTotals } from '#lib/charges/schema.ts'

const REFRESH_MS = 15_000

interface ChargeSummaryProps {
  filters: Record<string, string>
  clear: () => void
}

export function ChargeSummary({ filters, clear }: ChargeSummaryProps) {
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
            onClick={clear}
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
function countFilters(filters: Record<string, string>): number {
  return new Set(Object.keys(filters).map(name => name.replace(/_(from|to)$/, ''))).size
}

function Totals({ filters }: Pick<ChargeSummaryProps, 'filters'>) {
  const t = useTranslations('charges')
  const api = useApi()
  const path = `/dashboard/charges/totals?${new URLSearchParams(filters)}`
  const { data, error } = useQuery({
    queryKey: ['charges', api.scope, path],
    queryFn: ({ signal }) => api.get<ChargeTotals>(path, signal),
    refetchInterval: REFRESH_MS,
  })
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
  const period = { ...(created_from && { created_from }), ...(created_to && { created_to }) }
  const pathOf = (subject: string, query: Record<string, string>) =>
    `/dashboard/${subject}/export?${new URLSearchParams({ locale, ...query })}`
  const labels = {
    stop: t('stop'),
    broken: t('exportBroken'),
    saving: (rows: number) => t('exporting', { rows }),
  }
  return (
    <div className="flex flex-wrap items-center gap-x-5 md:ml-auto">
      <ExportButton
        path={pathOf('charges', filters)}
        labels={{ ...labels, save: t('export'), saved: rows => t('exported', { rows }) }}
      />
      <ExportButton
        path={pathOf('refunds', period)}
        labels={{
          ...labels,
          save: t('exportRefunds'),
          saved: rows => t('exportedRefunds', { rows }),
        }}
      />
    </div>
  )
}
