import type { Metadata } from 'next'
import { getLocale, getTranslations } from 'next-intl/server'
import { OverviewCharts } from '#app/admin/overview-charts.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { MODES } from '#lib/core/mode.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readOverview } from '#lib/operator/overview.ts'
import { SPAN_NAMES } from '#lib/operator/schema.ts'
import { requireAdmin } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('overview'))('title') }
}

interface OverviewPageProps {
  searchParams: Promise<SearchParams>
}

export default async function OverviewPage({ searchParams }: OverviewPageProps) {
  await requireAdmin()
  const search = await searchParams
  const span = SPAN_NAMES.find(name => name === search.span) ?? '24h'
  const mode = MODES.find(name => name === search.mode) ?? 'live'
  const [t, locale, overview] = await Promise.all([
    getTranslations('overview'),
    getLocale(),
    readOverview(span, mode),
  ])
  const spans = SPAN_NAMES.map(name => ({
    href: `/admin?span=${name}&mode=${mode}`,
    label: t(`span.${name}`),
    isCurrent: name === span,
  }))
  const modes = [...MODES].reverse().map(name => ({
    href: `/admin?span=${span}&mode=${name}`,
    label: t(`mode.${name}`),
    isCurrent: name === mode,
  }))
  return (
    <ClientMessages>
      <PageHead title={t('title')} />
      <div className="mb-5 flex flex-wrap justify-between gap-3">
        <Tabs label={t('spans')} tabs={spans} />
        <Tabs label={t('modes')} tabs={modes} />
      </div>
      <OverviewCharts overview={overview} span={span} locale={locale} />
    </ClientMessages>
  )
}
