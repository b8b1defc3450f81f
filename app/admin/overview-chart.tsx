import type { ReactNode } from 'react'
import { COLORS, known, Plot, type Series } from '#app/admin/overview-plot.tsx'
import { Section } from '#components/ui/sheet.tsx'

interface OverviewChartProps {
  title: string
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
export function OverviewChart(props: OverviewChartProps) {
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
      <Figures {...{ title, series, labels, format, texts }} />
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
