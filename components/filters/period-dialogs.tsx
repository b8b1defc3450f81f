'use client'

import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useLocale, useTimeZone, useTranslations } from 'next-intl'
import { type ReactNode, type SubmitEvent, useState } from 'react'
import type { Filters, PeriodName } from '#components/filters/use-filters.ts'
import { calendarDay } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { DayField } from '#components/ui/day-field.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { parseDay } from '#lib/core/day.ts'
import { dateFormat } from '#lib/core/locale.ts'
import { MONTH } from '#lib/dashboard/schema.ts'

interface PeriodDialogProps extends Pick<Filters<PeriodName>, 'get' | 'set'> {
  what: 'month' | 'custom'
  onClose: () => void
}

/** Asks for a month or for two days. */
export function PeriodDialog({ what, get, set, onClose }: PeriodDialogProps) {
  const t = useTranslations('period')
  const choose = (period: string, from: string | null, to: string | null) => {
    onClose()
    set({ period, from, to })
  }
  return (
    <Dialog onClose={onClose} title={t(what)}>
      {what === 'month' ? (
        <MonthForm chosen={get('period')} onChoose={month => choose(month, null, null)} />
      ) : (
        <DayRangeForm
          from={get('from')}
          to={get('to')}
          onChoose={(from, to) => choose('custom', from, to)}
        />
      )}
    </Dialog>
  )
}

interface DayRangeFormProps {
  from: string
  to: string
  onChoose: (from: string, to: string) => void
}

function DayRangeForm({ from, to, onChoose }: DayRangeFormProps) {
  const t = useTranslations()
  const locale = useLocale()
  const [problem, setProblem] = useState<{ name: 'from' | 'to'; text: string } | null>(null)
  const problemOf = (name: 'from' | 'to') => (problem?.name === name ? problem.text : null)
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const read = (name: string) => parseDay(String(new FormData(form).get(name)), locale)
    const [start, end] = [read('from'), read('to')]
    if (start && end && start <= end) return onChoose(start, end)
    const name = start ? 'to' : 'from'
    setProblem({ name, text: start && end ? t('period.toBeforeFrom') : t('ui.dayInvalid') })
    form.querySelector<HTMLElement>(`[name=${name}]`)?.focus()
  }
  return (
    <form
      method="post"
      noValidate
      onSubmit={submit}
      onInput={() => setProblem(null)}
      className="grid gap-5"
    >
      <div className="grid grid-cols-2 gap-4">
        <DayField
          label={t('period.from')}
          name="from"
          defaultDay={from}
          problem={problemOf('from')}
        />
        <DayField label={t('period.to')} name="to" defaultDay={to} problem={problemOf('to')} />
      </div>
      <Button variant="primary" type="submit">
        {t('ui.apply')}
      </Button>
    </form>
  )
}

const MONTHS = Array.from({ length: 12 }, (_, index) => String(index + 1).padStart(2, '0'))
const YEAR_MIN = 2000

interface MonthFormProps {
  chosen: string
  onChoose: (month: string) => void
}

/** Chooses a month up to the present one of the merchant's time zone. */
function MonthForm({ chosen, onChoose }: MonthFormProps) {
  const t = useTranslations()
  const locale = useLocale()
  const thisMonth = calendarDay(new Date(), useTimeZone()).slice(0, 7)
  const start = MONTH.test(chosen) ? chosen : thisMonth
  const [year, setYear] = useState(Number(start.slice(0, 4)))
  const [month, setMonth] = useState(start.slice(5))
  const monthName = dateFormat(locale, { month: 'long', timeZone: 'UTC' })
  const isFuture = (value: string) => `${year}-${value}` > thisMonth
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    onChoose(`${year}-${month}`)
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-5">
      <YearSwitch year={year} yearMax={Number(thisMonth.slice(0, 4))} onChange={setYear} />
      <fieldset className="grid grid-cols-3 gap-2">
        <legend className="sr-only">{year}</legend>
        {MONTHS.map(value => (
          <label
            key={value}
            className="grid min-h-11 place-items-center rounded-control border border-line2 px-1 text-small has-checked:border-accent has-disabled:border-line has-checked:bg-accent-soft has-checked:font-semibold has-checked:text-accent has-disabled:text-faint has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-2 not-has-disabled:cursor-pointer"
          >
            <input
              type="radio"
              name="month"
              value={value}
              required
              disabled={isFuture(value)}
              checked={value === month && !isFuture(value)}
              onChange={() => setMonth(value)}
              className="sr-only"
            />
            {monthName.format(new Date(`${year}-${value}-01T00:00:00Z`))}
          </label>
        ))}
      </fieldset>
      <Button variant="primary" type="submit">
        {t('ui.apply')}
      </Button>
    </form>
  )
}

interface YearSwitchProps {
  year: number
  yearMax: number
  onChange: (year: number) => void
}

function YearSwitch({ year, yearMax, onChange }: YearSwitchProps) {
  const t = useTranslations('period')
  return (
    <div className="flex items-center justify-between">
      <YearButton
        label={t('previousYear')}
        isDisabled={year <= YEAR_MIN}
        onClick={() => onChange(year - 1)}
      >
        <ChevronLeft size={18} aria-hidden />
      </YearButton>
      <output className="font-semibold tabular-nums">{year}</output>
      <YearButton
        label={t('nextYear')}
        isDisabled={year >= yearMax}
        onClick={() => onChange(year + 1)}
      >
        <ChevronRight size={18} aria-hidden />
      </YearButton>
    </div>
  )
}

interface YearButtonProps {
  label: string
  isDisabled: boolean
  onClick: () => void
  children: ReactNode
}

function YearButton({ label, isDisabled, onClick, children }: YearButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-disabled={isDisabled}
      onClick={() => isDisabled || onClick()}
      className="grid size-11 place-items-center rounded-control text-muted not-aria-disabled:hover:bg-sunk not-aria-disabled:hover:text-ink aria-disabled:text-faint"
    >
      {children}
    </button>
  )
}
