'use client'

import { useQuery } from '@tanstack/react-query'
import { Check, CircleAlert, TriangleAlert } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { Checks } from '#app/admin/health/checks.tsx'
import { Jobs, Workers } from '#app/admin/health/jobs.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import type { Check as CheckLine, Health } from '#lib/operator/schema.ts'

const REFRESH_MS = 5_000

export function LiveHealth({ initialData }: { initialData: Health }) {
  const api = useApi()
  const { data, error } = useQuery({
    queryKey: ['health'],
    queryFn: async ({ signal }) => (await api.get('/admin/health', { signal })).data,
    initialData,
    refetchInterval: REFRESH_MS,
  })
  return (
    <div className="grid gap-8">
      {error ? <Problem error={error} /> : null}
      <HealthSummary checks={data.checks} />
      <Checks checks={data.checks} />
      <Jobs jobs={data.jobs} />
      <Workers workers={data.workers} />
    </div>
  )
}

function HealthSummary({ checks }: { checks: CheckLine[] }) {
  const t = useTranslations('health')
  const list = new Intl.ListFormat(useLocale(), { type: 'conjunction' })
  const count = (level: CheckLine['level']) => checks.filter(check => check.level === level).length
  const counts = {
    problems: count('problem'),
    warnings: count('warning'),
    stuck: checks.reduce((sum, { stuck = 0 }) => sum + stuck, 0),
  }
  const found = (['problems', 'warnings', 'stuck'] as const)
    .filter(name => counts[name] > 0)
    .map(name => t(name, { count: counts[name] }))
  const style =
    counts.problems > 0
      ? { icon: CircleAlert, tone: 'bg-bad-soft text-bad' }
      : found.length > 0
        ? { icon: TriangleAlert, tone: 'bg-wait-soft text-wait' }
        : { icon: Check, tone: 'bg-ok-soft text-ok' }
  return (
    <p
      role="status"
      data-testid="health-verdict"
      className={`flex items-center gap-3 rounded-sheet px-4 py-3.5 font-semibold md:px-6 ${style.tone}`}
    >
      <style.icon size={20} aria-hidden />
      {found.length === 0 ? t('allWell') : list.format(found)}
    </p>
  )
}
