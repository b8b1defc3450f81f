'use client'

import { CircleAlert, Download } from 'lucide-react'
import { useRouter, useSearchParams } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useState } from 'react'
import { fileNameOf, saveAs } from '#components/api/client.ts'
import { useProblemText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { PeriodFilter } from '#components/filters/filters.tsx'
import { type PeriodName, useFilters } from '#components/filters/use-filters.ts'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/sheet.tsx'

interface StatementFiltersProps {
  /** Period if the URL contains none. To show everything, the URL must contain `period=all`. */
  defaultPeriod: string
  children: ReactNode
}

export function StatementFilters({ defaultPeriod, children }: StatementFiltersProps) {
  const { get, set, isPending } = useFilters<PeriodName>()
  const router = useRouter()
  useEffect(() => {
    const refresh = () => document.visibilityState === 'visible' && router.refresh()
    document.addEventListener('visibilitychange', refresh)
    return () => document.removeEventListener('visibilitychange', refresh)
  }, [router])
  const period = get('period') || defaultPeriod
  const getFilter = (name: PeriodName) =>
    name === 'period' ? (period === 'all' ? '' : period) : get(name)
  const setFilters: typeof set = changes => set({ ...changes, period: changes.period ?? 'all' })
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

type ExportState = 'exporting' | 'exported' | null

/** Saves every matching row as a file; if the stream breaks, saves nothing and shows an error. */
export function StatementExport({ format }: { format: 'csv' | 'ofx' }) {
  const t = useTranslations('statement')
  const api = useApi()
  const locale = useLocale()
  const filters = useSearchParams()
  const problemText = useProblemText()
  const [outcome, setOutcome] = useState<ExportState>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const name = format.toUpperCase()

  async function save() {
    setOutcome('exporting')
    setFailure(null)
    try {
      const [period, from, to] = ['period', 'from', 'to'].map(key => filters.get(key) || undefined)
      const query = { format, locale, period, from, to }
      const response = await api.fetchRaw('/dashboard/statement/export', { query })
      saveAs(await response.blob(), fileNameOf(response, `statement.${format}`))
      setOutcome('exported')
    } catch (error) {
      setFailure(error)
      setOutcome(null)
    }
  }

  return (
    <>
      <Button variant="quiet" onClick={save} disabled={outcome === 'exporting'}>
        <Download size={16} aria-hidden />
        {outcome === 'exporting' ? t('exporting', { format: name }) : t('export', { format: name })}
      </Button>
      <span role="status" className="sr-only">
        {outcome === 'exported' ? t('exported', { format: name }) : ''}
      </span>
      {failure ? (
        <div className="order-last w-full">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {t('exportFailed')} {failure instanceof TypeError ? '' : problemText(failure)}
          </Notice>
        </div>
      ) : null}
    </>
  )
}
