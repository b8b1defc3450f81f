import { useTranslations } from 'next-intl'
import { OverviewChart } from '#app/admin/overview-chart.tsx'
import { moneyText } from '#components/format/format.tsx'
import { dateFormat, HOME_TIME_ZONE, numberFormat } from '#lib/core/locale.ts'
import type { Overview, OverviewInterval, SpanName } from '#lib/operator/overview/schema.ts'

/** In Sao Paulo, whose days the intervals follow. */
const LABEL_FORMATS = {
  '24h': { hour: '2-digit', minute: '2-digit' },
  '7d': { weekday: 'short', hour: '2-digit', minute: '2-digit' },
  '30d': { day: 'numeric', month: 'short' },
} as const satisfies Record<SpanName, Intl.DateTimeFormatOptions>

interface OverviewChartsProps {
  overview: Overview
  span: SpanName
  locale: string
}

export function OverviewCharts({
  overview: { intervals, total },
  span,
  locale,
}: OverviewChartsProps) {
  const t = useTranslations('overview')
  const label = dateFormat(locale, { ...LABEL_FORMATS[span], timeZone: HOME_TIME_ZONE })
  const number = numberFormat(locale, { maximumFractionDigits: 0 })
  const percent = numberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  const money = (cents: number) => moneyText(cents, locale)
  const duration = (ms: number) =>
    t('ms', { value: numberFormat(locale, { maximumFractionDigits: ms < 10 ? 1 : 0 }).format(ms) })
  const shared = {
    labels: intervals.map(({ at }) => label.format(new Date(at))),
    texts: { from: t('from'), figures: t('figures'), empty: t('empty') },
  }
  const valuesOf = (read: (interval: OverviewInterval) => number | null) => intervals.map(read)
  const { p50, p99 } = total
  const errors = total.refused + total.limited + total.failed
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-2">
      <OverviewChart
        {...shared}
        title={t('volume')}
        text={t('volumeText', { count: total.paid_count })}
        total={money(total.paid_amount)}
        kind="bars"
        series={[
          {
            name: t('volume'),
            color: 'accent',
            values: valuesOf(interval => interval.paid_amount),
          },
        ]}
        format={money}
      />
      <OverviewChart
        {...shared}
        title={t('conversion')}
        text={t('conversionText', { paid: total.converted, created: total.created })}
        total={total.created > 0 ? percent.format(total.converted / total.created) : '—'}
        kind="lines"
        series={[{ name: t('conversion'), color: 'accent', values: valuesOf(conversionOf) }]}
        format={value => percent.format(value)}
        top={1}
      />
      <OverviewChart
        {...shared}
        title={t('errors')}
        text={t('errorsText', { requests: total.requests })}
        total={t('errorsTotal', {
          count: errors,
          part: percent.format(total.requests > 0 ? errors / total.requests : 0),
        })}
        kind="bars"
        series={[
          { name: t('failed'), color: 'bad', values: valuesOf(interval => interval.failed) },
          {
            name: t('limited'),
            color: 'lightWait',
            values: valuesOf(interval => interval.limited),
          },
          {
            name: t('refused'),
            color: 'lightMuted',
            values: valuesOf(interval => interval.refused),
          },
        ]}
        format={value => number.format(value)}
      />
      <OverviewChart
        {...shared}
        title={t('latency')}
        text={
          p50 === null || p99 === null
            ? t('latencyNone')
            : t('latencyText', { p50: duration(p50), p99: duration(p99) })
        }
        total={p50 === null ? '—' : duration(p50)}
        kind="lines"
        series={[
          { name: t('p50'), color: 'accent', values: valuesOf(interval => interval.p50) },
          {
            name: t('p99'),
            color: 'wait',
            values: valuesOf(interval => interval.p99),
            isDashed: true,
          },
        ]}
        format={duration}
      />
    </div>
  )
}

function conversionOf({ created, converted }: OverviewInterval): number | null {
  return created > 0 ? converted / created : null
}
