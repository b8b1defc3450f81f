import { ChevronDown } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useFormatter, useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useFilters } from '#components/filters/filters.tsx'
import { Money, moneyText } from '#components/format/format.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Menu } from '#components/ui/menu.tsx'
import { SEGMENT_CLASS, SEGMENTS_CLASS } from '#components/ui/segments.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { dateFormat } from '#lib/core/locale.ts'
import { type DayReceived, MONTH } from '#lib/dashboard/schema.ts'

/** Width of the scale at the right of the chart, in CSS pixels. */
const AXIS_WIDTH = 44

/** Periods whose days are counted, not named; the first is the default. */
const LAST_DAYS = ['', '7d', '30d', '90d']

/** Loaded after the page. The layout reserves the chart's space. */
const Chart = dynamic(() => import('#app/[mode]/home/chart.tsx').then(module => module.Chart), {
  ssr: false,
})

export function ChartCard({ days }: { days: DayReceived[] }) {
  const t = useTranslations('chart')
  const filters = useFilters()
  const sum = days.reduce((sum, { amount }) => sum + amount, 0)
  const range = useRangeText(days, !LAST_DAYS.includes(filters.get('period')))
  const picker = <RangePicker {...filters} />
  return (
    <section aria-busy={filters.isPending}>
      <div className="mb-2.5 flex min-h-9 items-center justify-between gap-x-4 max-md:hidden">
        <div className="flex min-w-0 flex-wrap items-baseline gap-x-3">
          <h2 className="text-title">{t('title')}</h2>
          <p className="text-muted text-small">
            {t.rich('sum', { days: range, amount: () => <Money cents={sum} /> })}
          </p>
        </div>
        {picker}
      </div>
      <Sheet
        className={`relative p-4 transition-opacity duration-150 md:px-6 md:py-5 ${filters.isPending ? 'opacity-60' : ''}`}
      >
        <div className="mb-3 flex items-baseline justify-between gap-3 text-small md:hidden">
          <h2 className="font-normal font-sans text-muted tracking-normal">
            {t('in', { days: range })}
          </h2>
          <p className="font-semibold text-body">
            <Money cents={sum} />
          </p>
        </div>
        <div aria-hidden={sum === 0} className="relative h-20 md:h-[168px]">
          {sum > 0 ? <Chart days={days} axisWidth={AXIS_WIDTH} /> : <NoPayments text={t('none')} />}
        </div>
        <div style={{ marginRight: sum > 0 ? AXIS_WIDTH : 0 }}>
          <DayLabels days={days.map(({ day }) => day)} />
        </div>
        <div className="mt-3 md:hidden">{picker}</div>
        <DayTable days={days} />
      </Sheet>
    </section>
  )
}

function NoPayments({ text }: { text: string }) {
  return (
    <p className="grid h-full place-items-center border-line2 border-b text-muted text-small">
      {text}
    </p>
  )
}

/** Maximum number of days for which every bar is wide enough for a label. */
const LABELED_BARS_MAX = 10

/** Labels below the bars. For many days only five, the first and last aligned with the edges. */
function DayLabels({ days }: { days: string[] }) {
  const formatDay = useDayText()
  const hasLabelPerBar = days.length <= LABELED_BARS_MAX
  const labelCount = hasLabelPerBar ? days.length : 5
  const labeledDayIndexes = Array.from({ length: labelCount }, (_, index) =>
    Math.round((index * (days.length - 1)) / Math.max(1, labelCount - 1)),
  )
  return (
    <p aria-hidden className="relative mt-3 h-5 text-muted text-small">
      {labeledDayIndexes.map((dayIndex, index) => {
        const isEdge = index === 0 || index === labelCount - 1
        const labelClass = `${isEdge ? '' : 'max-md:hidden'} ${isEdge && !hasLabelPerBar ? '' : '-translate-x-1/2'}`
        const middle = { left: `${((dayIndex + 0.5) / days.length) * 100}%` }
        const edge = index === 0 ? { left: 0 } : { right: 0 }
        return (
          <span
            key={dayIndex}
            style={isEdge && !hasLabelPerBar ? edge : middle}
            className={`absolute whitespace-nowrap ${labelClass}`}
          >
            {formatDay(days[dayIndex] ?? '')}
          </span>
        )
      })}
    </p>
  )
}

function DayTable({ days }: { days: DayReceived[] }) {
  const t = useTranslations('chart')
  const locale = useLocale()
  const formatDay = useDayText()
  return (
    <div className="sr-only">
      <table>
        <caption>{t('title')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('day')}</th>
            <th scope="col">{t('amount')}</th>
            <th scope="col">{t('charges')}</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ day, amount, count }) => (
            <tr key={day}>
              <th scope="row">{formatDay(day)}</th>
              <td>{moneyText(amount, locale)}</td>
              <td>{count}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Returns a formatter of calendar days, which have no time zone: `6 nov`, `Nov 6`. */
function useDayText(): (day: string) => string {
  const format = useFormatter()
  const options = { day: 'numeric', month: 'short', timeZone: 'UTC' } as const
  return day => format.dateTime(new Date(day), options).replace(' de ', ' ').replace('.', '')
}

function useRangeText(days: DayReceived[], isChosen: boolean): string {
  const t = useTranslations('chart')
  const locale = useLocale()
  const [first, last] = [days[0], days.at(-1)]
  if (!isChosen || !first || !last) return t('days', { count: days.length })
  const format = dateFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  return format.formatRange(new Date(first.day), new Date(last.day))
}

const PeriodDialog = lazyDialog(
  () => import('#components/filters/period-dialogs.tsx'),
  'PeriodDialog',
)

const DAYS = ['7d', '30d', '90d'] as const
const OTHERS = ['this_month', 'last_month', 'month', 'custom'] as const

interface RangePickerProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

function RangePicker({ get, set }: RangePickerProps) {
  const t = useTranslations()
  const [dialog, setDialog] = useState<'month' | 'custom' | null>(null)
  const period = MONTH.test(get('period')) ? 'month' : get('period')
  const other = OTHERS.find(known => known === period)
  const days = other ? null : (DAYS.find(known => known === period) ?? '30d')
  const choose = (value: string) => {
    if (value === 'month' || value === 'custom') setDialog(value)
    else set({ period: value, from: null, to: null })
  }
  return (
    <fieldset className={SEGMENTS_CLASS}>
      <legend className="sr-only">{t('chart.range')}</legend>
      {DAYS.map(value => (
        <button
          key={value}
          type="button"
          aria-pressed={value === days}
          aria-label={t(`chart.long.${value}`)}
          onClick={() => choose(value)}
          className={SEGMENT_CLASS}
        >
          {t(`chart.${value}`)}
        </button>
      ))}
      <Menu
        value={other ?? ''}
        choices={OTHERS.map(value => ({ value, label: t(`period.${value}`) }))}
        onChoose={choose}
        trigger={
          <button type="button" aria-pressed={other !== undefined} className={SEGMENT_CLASS}>
            {t('chart.other')}
            <ChevronDown size={14} aria-hidden />
          </button>
        }
      />
      {dialog ? (
        <PeriodDialog what={dialog} get={get} set={set} onClose={() => setDialog(null)} />
      ) : null}
    </fieldset>
  )
}
