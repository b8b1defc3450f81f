import type { Metadata } from 'next'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { getLocale, getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { NeedsYou } from '#app/admin/needs-you.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { moneyText } from '#components/format/format.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { SEGMENT_CLASS, SEGMENTS_CLASS } from '#components/ui/segments.ts'
import { Section } from '#components/ui/sheet.tsx'
import { dateFormat, HOME_TIME_ZONE, numberFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { listStaffTasks } from '#lib/operator/health.ts'
import { readOverview } from '#lib/operator/overview.ts'
import {
  type ChargeFigures,
  type Overview,
  type OverviewInterval,
  SPAN_NAMES,
  type SpanName,
} from '#lib/operator/schema.ts'
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
  const [t, locale, overview, tasks] = await Promise.all([
    getTranslations('overview'),
    getLocale(),
    readOverview(span),
    listStaffTasks(),
  ])
  return (
    <ClientMessages namespaces={['needsYou']}>
      <PageHead title={t('title')} />
      <NeedsYou rendered={tasks} />
      <nav aria-label={t('spans')} className={`mb-5 md:w-fit ${SEGMENTS_CLASS}`}>
        {SPAN_NAMES.map(name => (
          <Link
            key={name}
            href={`/admin?span=${name}`}
            prefetch={false}
            aria-current={name === span ? 'page' : undefined}
            className={SEGMENT_CLASS}
          >
            {t(`span.${name}`)}
          </Link>
        ))}
      </nav>
      <OverviewCharts overview={overview} span={span} locale={locale} />
    </ClientMessages>
  )
}

const SHOWN_MODES: readonly Mode[] = ['live', 'test']

/** In Sao Paulo, whose days the intervals follow. */
const LABEL_FORMATS = {
  '24h': { timeStyle: 'short' },
  '7d': { weekday: 'short', hour: 'numeric', minute: '2-digit' },
  '30d': { day: 'numeric', month: 'short' },
} as const satisfies Record<SpanName, Intl.DateTimeFormatOptions>

interface OverviewChartsProps {
  overview: Overview
  span: SpanName
  locale: string
}

function OverviewCharts({ overview: { intervals, total }, span, locale }: OverviewChartsProps) {
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
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 gap-y-8 lg:grid-cols-2">
      {SHOWN_MODES.map(mode => (
        <section key={mode} aria-labelledby={`mode-${mode}`} className="grid gap-3">
          <h2 id={`mode-${mode}`} className="text-title">
            {t(`mode.${mode}`)}
          </h2>
          <OverviewChart
            {...shared}
            title={t('volume')}
            tableName={t('tableName', { title: t('volume'), mode: t(`mode.${mode}`) })}
            text={t('volumeText', { count: total[mode].paid_count })}
            total={money(total[mode].paid_amount)}
            kind="bars"
            series={[
              {
                name: t('volume'),
                color: 'accent',
                values: valuesOf(interval => interval[mode].paid_amount),
              },
            ]}
            format={money}
          />
          <OverviewChart
            {...shared}
            title={t('conversion')}
            tableName={t('tableName', { title: t('conversion'), mode: t(`mode.${mode}`) })}
            text={t('conversionText', {
              paid: total[mode].converted,
              created: total[mode].created,
            })}
            total={
              total[mode].created > 0
                ? percent.format(total[mode].converted / total[mode].created)
                : '—'
            }
            kind="lines"
            series={[
              {
                name: t('conversion'),
                color: 'accent',
                values: valuesOf(interval => conversionOf(interval[mode])),
              },
            ]}
            format={value => percent.format(value)}
            top={1}
          />
        </section>
      ))}
      <section
        aria-labelledby="api"
        className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 gap-y-3 lg:col-span-2 lg:grid-cols-2"
      >
        <h2 id="api" className="text-title lg:col-span-2">
          {t('api')}
        </h2>
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
      </section>
    </div>
  )
}

function conversionOf({ created, converted }: ChargeFigures): number | null {
  return created > 0 ? converted / created : null
}

interface OverviewChartProps {
  title: string
  /** Name of the table of figures; by default the title. */
  tableName?: string
  text: string
  /** The figure of the whole span. */
  total: ReactNode
  kind: 'bars' | 'lines'
  series: Series[]
  labels: string[]
  format: (value: number) => string
  /** Top of the scale; by default, the largest value. */
  top?: number
  texts: { from: string; figures: string; empty: string }
}

/** Draws bars on top of each other, or lines, with the same figures as a table. */
function OverviewChart(props: OverviewChartProps) {
  const { title, text, total, kind, series, labels, format, texts } = props
  const sums = labels.map((_, index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  )
  const largest =
    kind === 'bars' ? Math.max(...sums) : Math.max(...series.flatMap(({ values }) => known(values)))
  const top = props.top ?? largest
  const isEmpty = series.every(({ values }) => known(values).every(value => value === 0))
  const isTopShown = !isEmpty && top > 0
  return (
    <Section title={title} text={text}>
      <p className="font-display font-semibold text-head">{total}</p>
      <div className="relative mt-3">
        <p aria-hidden className="mb-1 h-4 text-right text-muted text-tiny">
          {isTopShown ? format(top) : null}
        </p>
        <Plot {...{ kind, series, labels }} top={isTopShown ? top : null} />
        {isEmpty ? (
          <p className="absolute inset-x-0 top-16 text-center text-muted text-small">
            {texts.empty}
          </p>
        ) : null}
        <p aria-hidden className="mt-1.5 flex justify-between gap-2 text-muted text-tiny">
          <span>{labels[0]}</span>
          <span>{labels[Math.floor(labels.length / 2)]}</span>
          <span>{labels.at(-1)}</span>
        </p>
      </div>
      {series.length > 1 ? <Legend series={series} /> : null}
      <Figures {...{ series, labels, format, texts }} title={props.tableName ?? title} />
    </Section>
  )
}

function Legend({ series }: Pick<OverviewChartProps, 'series'>) {
  return (
    <ul aria-hidden className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-muted text-small">
      {series.map(({ name, color, isDashed }) => (
        <li key={name} className="flex items-center gap-2">
          <span
            className={`w-4 border-t-[3px] ${isDashed ? 'border-dashed' : ''}`}
            style={{ borderColor: COLORS[color] }}
          />
          {name}
        </li>
      ))}
    </ul>
  )
}

type FiguresProps = Pick<OverviewChartProps, 'title' | 'series' | 'labels' | 'format' | 'texts'>

function Figures({ title, series, labels, format, texts }: FiguresProps) {
  return (
    <details className="mt-3 text-small">
      <summary className="w-fit cursor-pointer font-semibold text-accent">{texts.figures}</summary>
      <div className="mt-2 max-h-72 overflow-auto">
        <table className="w-full">
          <caption className="sr-only">{title}</caption>
          <thead>
            <tr className="text-right text-muted">
              <th scope="col" className="py-1.5 pr-3 text-left font-medium">
                {texts.from}
              </th>
              {series.map(({ name }) => (
                <th key={name} scope="col" className="py-1.5 pl-3 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, index) => (
              <tr key={label} className="border-line border-t text-right">
                <th scope="row" className="whitespace-nowrap py-1.5 pr-3 text-left font-normal">
                  {label}
                </th>
                {series.map(({ name, values }) => (
                  <td key={name} className="whitespace-nowrap py-1.5 pl-3">
                    {formatOrDash(values[index] ?? null, format)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

function formatOrDash(value: number | null, format: (value: number) => string): string {
  return value === null ? '—' : format(value)
}

const COLORS = {
  accent: 'var(--color-accent)',
  wait: 'var(--color-wait)',
  bad: 'var(--color-bad)',
  lightWait: 'color-mix(in srgb, var(--color-wait) 50%, var(--color-surface))',
  lightMuted: 'color-mix(in srgb, var(--color-faint) 40%, var(--color-surface))',
} as const

interface Series {
  name: string
  color: keyof typeof COLORS
  /** Null: nothing to show in this interval. */
  values: (number | null)[]
  isDashed?: boolean
}

const WIDTH = 600
const HEIGHT = 140

interface PlotProps {
  kind: 'bars' | 'lines'
  series: Series[]
  labels: string[]
  /** Value at the top; null: nothing to draw. */
  top: number | null
}

function Plot({ top, ...drawn }: PlotProps) {
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-36 w-full overflow-visible"
    >
      {[0, HEIGHT / 2, HEIGHT].map(y => (
        <line
          key={y}
          x1={0}
          x2={WIDTH}
          y1={y}
          y2={y}
          stroke="var(--color-line)"
          vectorEffect="non-scaling-stroke"
        />
      ))}
      {top === null ? null : <Marks {...drawn} top={top} />}
    </svg>
  )
}

function known(values: Series['values']): number[] {
  return values.filter(value => value !== null)
}

function Marks({ kind, series, labels, top }: PlotProps & { top: number }) {
  const step = WIDTH / labels.length
  const yOf = (value: number) => HEIGHT - (Math.min(value, top) / top) * HEIGHT
  if (kind === 'lines')
    return series.map(one => (
      <Line key={one.name} {...one} xOf={index => (index + 0.5) * step} yOf={yOf} />
    ))
  return labels.map((label, index) => {
    let below = 0
    return series.map(({ name, color, values }) => {
      const value = values[index] ?? 0
      const y = yOf(below + value)
      const height = yOf(below) - y
      below += value
      return value > 0 ? (
        <rect
          key={`${name} ${label}`}
          x={index * step + step * 0.12}
          y={y}
          width={step * 0.76}
          height={Math.max(height, 1.5)}
          fill={COLORS[color]}
        />
      ) : null
    })
  })
}

interface LineProps extends Series {
  xOf: (index: number) => number
  yOf: (value: number) => number
}

/** A line with gaps where values are missing, and a dot at each value, which may have gaps around it. */
function Line({ color, values, isDashed, xOf, yOf }: LineProps) {
  const points = values.map((value, index) =>
    value === null ? null : `${xOf(index).toFixed(1)} ${yOf(value).toFixed(1)}`,
  )
  const line = points.map((point, index) => point && `${points[index - 1] ? 'L' : 'M'}${point}`)
  const dots = points.map(point => point && `M${point}h0.01`)
  const stroke = {
    fill: 'none',
    stroke: COLORS[color],
    strokeLinecap: 'round',
    vectorEffect: 'non-scaling-stroke',
  } as const
  return (
    <>
      <path
        {...stroke}
        d={line.filter(Boolean).join('')}
        strokeWidth={2}
        strokeLinejoin="round"
        strokeDasharray={isDashed ? '4 5' : undefined}
      />
      <path {...stroke} d={dots.filter(Boolean).join('')} strokeWidth={5} />
    </>
  )
}
