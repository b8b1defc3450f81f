import { ChevronDown } from 'lucide-react'
import { useFormatter, useLocale, useTranslations } from 'next-intl'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import { type Filters, type PeriodName, useFilters } from '#components/filters/use-filters.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Menu } from '#components/ui/menu.tsx'
import { SEGMENT_CLASS, SEGMENTS_CLASS } from '#components/ui/segments.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { dateFormat, numberFormat } from '#lib/core/locale.ts'
import { type DayReceived, MONTH } from '#lib/dashboard/schema.ts'

/** Periods whose days are counted, not named; the first is the default. */
const LAST_DAYS = ['', '7d', '30d', '90d']

export function ChartCard({ days }: { days: DayReceived[] }) {
  const t = useTranslations('chart')
  const filters = useFilters<PeriodName>()
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
          {sum > 0 ? <Chart days={days} /> : <NoPayments text={t('none')} />}
        </div>
        <div className={sum > 0 ? 'mr-11' : ''}>
          <DayLabels days={days.map(({ day }) => day)} />
        </div>
        <div className="mt-3 md:hidden">{picker}</div>
        <DayTable days={days} />
      </Sheet>
    </section>
  )
}

const BAR_CLASS = 'bg-[color-mix(in_srgb,var(--color-accent)_32%,var(--color-surface))]'

/** A bar for each day, with its values where the pointer or the arrow keys are. */
function Chart({ days }: { days: DayReceived[] }) {
  const t = useTranslations('chart')
  const [shown, setShown] = useState<number | null>(null)
  const best = Math.max(...days.map(({ amount }) => amount))
  const width = `${(days.length > 120 ? 100 : 86) / days.length}%`
  function point({ clientX, currentTarget }: PointerEvent) {
    const { left, width } = currentTarget.getBoundingClientRect()
    const index = Math.floor(((clientX - left) / width) * days.length)
    setShown(Math.min(Math.max(index, 0), days.length - 1))
  }
  function move(event: KeyboardEvent) {
    const last = days.length - 1
    const current = shown ?? 0
    const next = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: last }[event.key]
    if (next === undefined) return
    event.preventDefault()
    setShown(Math.min(Math.max(next, 0), last))
  }
  return (
    <div className="relative h-full pt-1.5 pr-11">
      <Scale best={best} />
      <div
        role="application"
        aria-label={t('keys')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move between its days
        tabIndex={0}
        onPointerMove={point}
        onPointerLeave={() => setShown(null)}
        onFocus={() => setShown(current => current ?? 0)}
        onBlur={() => setShown(null)}
        onKeyDown={move}
        className="relative flex h-full items-end"
      >
        {days.map(({ day, amount }, index) => {
          const isMarked = shown === null ? amount === best : index === shown
          return (
            <span
              key={day}
              style={{ height: `${(amount / best) * 100}%`, width }}
              className={`mx-auto min-h-0.5 max-w-16 rounded-[3px] ${isMarked ? 'bg-accent' : BAR_CLASS}`}
            />
          )
        })}
        {shown === null ? null : <DayTooltip days={days} index={shown} />}
      </div>
    </div>
  )
}

/** Lines at the greatest amount and at a round one near its half, each with its value. */
function Scale({ best }: { best: number }) {
  const format = numberFormat(useLocale(), { notation: 'compact', maximumSignificantDigits: 3 })
  const unit = 10 ** Math.floor(Math.log10(best / 2))
  const [half = 0] = [1, 2, 5, 10]
    .map(factor => factor * unit)
    .sort((one, other) => Math.abs(one - best / 2) - Math.abs(other - best / 2))
  return (
    <div aria-hidden className="absolute inset-0 top-1.5 text-[11px] text-muted">
      {[best, half].map(amount => (
        <p
          key={amount}
          style={{ bottom: `${(amount / best) * 100}%` }}
          className="absolute inset-x-0 flex h-0 items-center"
        >
          <span className="grow border-line border-t border-dotted" />
          <span className="w-11 pl-2.5">{format.format(amount / 100)}</span>
        </p>
      ))}
    </div>
  )
}

function DayTooltip({ days, index }: { days: DayReceived[]; index: number }) {
  const t = useTranslations('chart')
  const locale = useLocale()
  const day = days[index]
  if (!day) return null
  const date = dateFormat(locale, { dateStyle: 'full', timeZone: 'UTC' })
  const isInLeftHalf = index < days.length / 2
  const left = `calc(${((index + 1) / days.length) * 100}% + 8px)`
  const right = `calc(${(1 - index / days.length) * 100}% + 8px)`
  return (
    <div
      role="status"
      style={isInLeftHalf ? { left } : { right }}
      className="pointer-events-none absolute top-0 z-10 w-max max-w-[70%] rounded-control bg-ink px-3 py-2 text-paper text-small shadow-over"
    >
      <p>{date.format(new Date(day.day))}</p>
      <p className="font-semibold text-body">{moneyText(day.amount, locale)}</p>
      <p>{t('paidCount', { count: day.count })}</p>
    </div>
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

function RangePicker({ get, set }: Pick<Filters<PeriodName>, 'get' | 'set'>) {
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
