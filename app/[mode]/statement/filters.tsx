'use client'

import { useRouter } from 'next/navigation'
import { type ReactNode, useEffect } from 'react'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'

interface StatementFiltersProps {
  /** Period if the URL contains none. To show everything, the URL must contain `period=all`. */
  defaultPeriod: string
  children: ReactNode
}

export function StatementFilters({ defaultPeriod, children }: StatementFiltersProps) {
  const { get, set, isPending } = useFilters()
  const router = useRouter()
  useEffect(() => {
    const refresh = () => document.visibilityState === 'visible' && router.refresh()
    document.addEventListener('visibilitychange', refresh)
    return () => document.removeEventListener('visibilitychange', refresh)
  }, [router])
  const period = get('period') || defaultPeriod
  const getFilter = (name: string) =>
    name === 'period' ? (period === 'all' ? '' : period) : get(name)
  const setFilters = (changes: Record<string, string | null>) =>
    set({ ...changes, period: changes.period ?? 'all' })
  return (
    <>
      <div className="mb-4 flex flex-wrap gap-2">
        <PeriodFilter get={getFilter} set={setFilters} />
      </div>
      <div aria-busy={isPending} className="transition-opacity duration-150 aria-busy:opacity-60">
        {children}
      </div>
    </>
  )
}
