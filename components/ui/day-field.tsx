'use client'

import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useLocale, useTimeZone, useTranslations } from 'next-intl'
import { Popover } from 'radix-ui'
import {
  type ComponentProps,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { setValue } from '#components/form/control.ts'
import { calendarDay } from '#components/format/format.tsx'
import { Field } from '#components/ui/field.tsx'
import { addDays, addMonths, type Day, dateOf, formatDay, parseDay } from '#lib/core/day.ts'
import { dateFormat } from '#lib/core/locale.ts'

interface DayFieldProps extends Omit<ComponentProps<typeof Field>, 'defaultValue' | 'type'> {
  defaultDay?: Day | undefined
}

/** A day, typed in the order of the page's language or chosen in a calendar; `parseDay` reads it from the form. */
export function DayField({ defaultDay, ...rest }: DayFieldProps) {
  const t = useTranslations('ui')
  const locale = useLocale()
  const [isOpen, setOpen] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const button = (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger
        aria-label={`${rest.label}: ${t('calendar')}`}
        className="-my-1 h-7 rounded-control px-1.5 font-medium text-accent hover:bg-sunk"
      >
        {t('calendar')}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          collisionPadding={12}
          aria-label={rest.label}
          onOpenAutoFocus={event => {
            event.preventDefault()
            focusDay(event.currentTarget as HTMLElement)
          }}
          className="z-60 rounded-control border border-line bg-surface p-3 text-ink shadow-over"
        >
          <Calendar
            chosen={parseDay(input.current?.value ?? '', locale)}
            onChoose={day => {
              if (input.current) setValue(input.current, formatDay(day, locale))
              setOpen(false)
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
  return (
    <Field
      {...rest}
      ref={input}
      inputMode="numeric"
      autoComplete="off"
      placeholder={t('dayForm')}
      defaultValue={defaultDay ? formatDay(defaultDay, locale) : ''}
      beside={button}
    />
  )
}

function focusDay(within: HTMLElement | null): void {
  within?.querySelector<HTMLElement>('td [tabindex="0"]')?.focus()
}

const WEEK_DAYS = 7
const STEPS: Record<string, (day: Day) => Day> = {
  ArrowLeft: day => addDays(day, -1),
  ArrowRight: day => addDays(day, 1),
  ArrowUp: day => addDays(day, -WEEK_DAYS),
  ArrowDown: day => addDays(day, WEEK_DAYS),
  Home: day => addDays(day, -weekDayOf(day)),
  End: day => addDays(day, WEEK_DAYS - 1 - weekDayOf(day)),
  PageUp: day => addMonths(day, -1),
  PageDown: day => addMonths(day, 1),
}

/** Sunday is 0: weeks begin with it in both languages. */
function weekDayOf(day: Day): number {
  return dateOf(day).getUTCDay()
}

interface CalendarProps {
  chosen: Day | null
  onChoose: (day: Day) => void
}

/** A month, of which one day is in the order of the tab key; arrow keys lead to the others. */
function Calendar({ chosen, onChoose }: CalendarProps) {
  const t = useTranslations('ui')
  const locale = useLocale()
  const titleId = useId()
  const grid = useRef<HTMLTableElement>(null)
  const isByKey = useRef(false)
  const today = calendarDay(new Date(), useTimeZone())
  const [current, setCurrent] = useState(chosen ?? today)
  useEffect(() => {
    if (isByKey.current && current) focusDay(grid.current)
    isByKey.current = false
  }, [current])
  const formatOf = (options: Intl.DateTimeFormatOptions) => {
    const format = dateFormat(locale, { ...options, timeZone: 'UTC' })
    return (day: Day) => format.format(dateOf(day))
  }
  const [monthText, dayText] = [
    formatOf({ month: 'long', year: 'numeric' }),
    formatOf({ dateStyle: 'full' }),
  ]
  const [weekDayText, weekDayName] = [
    formatOf({ weekday: 'narrow' }),
    formatOf({ weekday: 'long' }),
  ]
  const weeks = listWeeks(current)
  function step(event: KeyboardEvent) {
    const next = STEPS[event.key]
    if (!next) return
    event.preventDefault()
    isByKey.current = true
    setCurrent(next(current))
  }
  return (
    <div>
      <div className="mb-2 flex items-center justify-between">
        <MonthButton label={t('previousMonth')} onClick={() => setCurrent(addMonths(current, -1))}>
          <ChevronLeft size={18} aria-hidden />
        </MonthButton>
        <span id={titleId} aria-live="polite" className="font-semibold text-small">
          {monthText(current)}
        </span>
        <MonthButton label={t('nextMonth')} onClick={() => setCurrent(addMonths(current, 1))}>
          <ChevronRight size={18} aria-hidden />
        </MonthButton>
      </div>
      <table ref={grid} aria-labelledby={titleId} onKeyDown={step} className="tabular-nums">
        <thead>
          <tr>
            {weeks[0]?.map(day => (
              <th key={day} scope="col" className="h-8 w-10 font-medium text-muted text-small">
                <span aria-hidden>{weekDayText(day)}</span>
                <span className="sr-only">{weekDayName(day)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map(week => (
            <tr key={week[0]}>
              {week.map(day => (
                <td key={day} className="p-0">
                  <button
                    type="button"
                    tabIndex={day === current ? 0 : -1}
                    aria-label={dayText(day)}
                    aria-pressed={day === chosen}
                    aria-current={day === today ? 'date' : undefined}
                    onClick={() => onChoose(day)}
                    className={`grid size-10 place-items-center rounded-control text-small hover:bg-sunk aria-pressed:bg-accent aria-pressed:font-semibold aria-pressed:text-on-accent aria-[current]:font-semibold aria-[current]:not-aria-pressed:text-accent ${
                      day.slice(0, 7) === current.slice(0, 7) ? '' : 'text-muted'
                    }`}
                  >
                    {Number(day.slice(8))}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Returns the weeks that a month touches. */
function listWeeks(day: Day): Day[][] {
  const first = `${day.slice(0, 7)}-01`
  const start = addDays(first, -weekDayOf(first))
  const end = addMonths(first, 1)
  const weeks: Day[][] = []
  for (let sunday = start; sunday < end; sunday = addDays(sunday, WEEK_DAYS))
    weeks.push(Array.from({ length: WEEK_DAYS }, (_, index) => addDays(sunday, index)))
  return weeks
}

interface MonthButtonProps {
  label: string
  onClick: () => void
  children: ReactNode
}

function MonthButton({ label, onClick, children }: MonthButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      onClick={onClick}
      className="grid size-10 place-items-center rounded-control text-muted hover:bg-sunk hover:text-ink"
    >
      {children}
    </button>
  )
}
