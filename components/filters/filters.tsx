'use client'

import { ChevronDown, Search, X } from 'lucide-react'
import { useSearchParams } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import type { Filters, PeriodName } from '#components/filters/use-filters.ts'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Menu } from '#components/ui/menu.tsx'
import type { MenuChoices } from '#components/ui/menu-content.tsx'
import { dateFormat } from '#lib/core/locale.ts'
import { MONTH, PERIODS } from '#lib/dashboard/schema.ts'

const CHIP_CLASS =
  'inline-flex h-9 items-center gap-1.5 whitespace-nowrap border bg-surface font-medium text-small transition-colors duration-150'
const UNSET_CLASS = 'border-line2 text-muted hover:text-ink'
const SET_CLASS = 'border-accent bg-accent-soft text-accent'

interface FilterChipProps {
  label: string
  /** The chosen value, translated; null when the filter is not set. */
  value: string | null
  onClear: () => void
  /** The translation of "any" that agrees with the label. */
  anyLabel?: string
  menu: MenuChoices
}

function FilterChip({ label, value, onClear, anyLabel, menu }: FilterChipProps) {
  const t = useTranslations('ui')
  const stateClass = value === null ? UNSET_CLASS : SET_CLASS
  return (
    <span className="inline-flex max-w-full shrink-0">
      <Menu
        {...menu}
        align="start"
        trigger={
          <button
            type="button"
            className={`${CHIP_CLASS} ${stateClass} min-w-0 px-3.5 ${value === null ? 'rounded-chip' : 'rounded-l-chip border-r-0 pr-2'}`}
          >
            <span className="truncate">
              {label}: {value ?? anyLabel ?? t('any')}
            </span>
            {value === null ? <ChevronDown size={14} aria-hidden className="shrink-0" /> : null}
          </button>
        }
      />
      {value === null ? null : (
        <button
          type="button"
          onClick={onClear}
          aria-label={`${t('clear')}: ${label}`}
          className={`${CHIP_CLASS} ${stateClass} rounded-r-chip border-l-0 pr-3 pl-1`}
        >
          <X size={15} aria-hidden />
        </button>
      )}
    </span>
  )
}

interface ChoiceFilterProps {
  label: string
  value: string
  choices: { value: string; label: string }[]
  anyLabel?: string
  /** '' clears the filter. */
  onChoose: (value: string) => void
}

export function ChoiceFilter({ label, value, choices, anyLabel, onChoose }: ChoiceFilterProps) {
  const t = useTranslations('ui')
  const chosen = choices.find(choice => choice.value === value)
  const anyChoice = { value: '', label: anyLabel ?? t('any') }
  return (
    <FilterChip
      label={label}
      value={chosen?.label ?? null}
      onClear={() => onChoose('')}
      anyLabel={anyLabel}
      menu={{ value: chosen?.value ?? '', choices: [anyChoice, ...choices], onChoose }}
    />
  )
}

interface ClearOnlyFilterProps {
  label: string
  value: string
  onClear: () => void
}

/** A filter set elsewhere, such as by a link: the chip can only clear the filter. */
export function ClearOnlyFilter({ label, value, onClear }: ClearOnlyFilterProps) {
  const t = useTranslations('ui')
  return (
    <span className="inline-flex max-w-full">
      <span className={`${CHIP_CLASS} ${SET_CLASS} min-w-0 rounded-l-chip border-r-0 pr-1 pl-3.5`}>
        {label}: <span className="truncate">{value}</span>
      </span>
      <button
        type="button"
        onClick={onClear}
        aria-label={`${t('clear')}: ${label}`}
        className={`${CHIP_CLASS} ${SET_CLASS} rounded-r-chip border-l-0 pr-3 pl-1`}
      >
        <X size={15} aria-hidden />
      </button>
    </span>
  )
}

const PeriodDialog = lazyDialog(
  () => import('#components/filters/period-dialogs.tsx'),
  'PeriodDialog',
)

const CHOICES = [...PERIODS.filter(period => period !== 'custom'), 'month', 'custom'] as const

type PeriodFilterProps = Pick<Filters<PeriodName>, 'get' | 'set'>

/** Filters by days in the merchant's time zone. */
export function PeriodFilter({ get, set }: PeriodFilterProps) {
  const t = useTranslations('period')
  const [dialog, setDialog] = useState<'month' | 'custom' | null>(null)
  const period = get('period')
  const text = usePeriodText(get)
  const choices = CHOICES.map(value => ({ value, label: t(value) }))
  function choose(value: string) {
    if (value === 'custom' || value === 'month') setDialog(value)
    else set({ period: value || null, from: null, to: null })
  }
  return (
    <>
      <FilterChip
        label={t('label')}
        value={text}
        onClear={() => choose('')}
        anyLabel={t('all')}
        menu={{
          value: MONTH.test(period) ? 'month' : text === null ? '' : period,
          choices: [{ value: '', label: t('all') }, ...choices],
          onChoose: choose,
        }}
      />
      {dialog ? (
        <PeriodDialog what={dialog} get={get} set={set} onClose={() => setDialog(null)} />
      ) : null}
    </>
  )
}

/** Returns the name of the chosen period; null if there is none. */
function usePeriodText(get: PeriodFilterProps['get']): string | null {
  const t = useTranslations('period')
  const locale = useLocale()
  const period = get('period')
  const formatDay = (day: string, options: Intl.DateTimeFormatOptions) => {
    const date = new Date(`${day}T00:00:00Z`)
    if (Number.isNaN(date.getTime())) return '…'
    return dateFormat(locale, { ...options, timeZone: 'UTC' }).format(date)
  }
  if (MONTH.test(period)) return formatDay(`${period}-01`, { month: 'long', year: 'numeric' })
  if (period === 'custom') {
    const [from, to] = (['from', 'to'] as const).map(name =>
      formatDay(get(name), { dateStyle: 'medium' }),
    )
    return t('range', { from: from ?? '…', to: to ?? '…' })
  }
  const known = PERIODS.find(value => value === period)
  return known ? t(known) : null
}

const DEBOUNCE_MS = 300

/** Matches all but a whole token, which a form without scripts would put into the URL. */
const NO_WHOLE_TOKEN = '(?!\\s*troco_(test|live)_\\w{10}).*'

interface SearchFilterProps {
  label: string
  /** Parameter of the URL. */
  name?: string
  value: string
  onSearch: (text: string) => void
}

/** Searches as the user types. Without scripts it is a form that keeps the other filters. */
export function SearchFilter({ label, name = 'q', value, onSearch }: SearchFilterProps) {
  const t = useTranslations('ui')
  const searchParams = useSearchParams()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const input = useRef<HTMLInputElement>(null)
  const search = (text: string) => {
    clearTimeout(timer.current)
    onSearch(text.trim())
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: adopts once what was typed before hydration
  useEffect(() => {
    if (input.current?.form) input.current.form.noValidate = true
    if (input.current && input.current.value.trim() !== value.trim()) search(input.current.value)
    return () => clearTimeout(timer.current)
  }, [])
  const lastValue = useRef(value)
  // The browser's back and forward change the URL, but not the value of the input.
  useEffect(() => {
    if (value === lastValue.current) return
    lastValue.current = value
    if (input.current && document.activeElement !== input.current) input.current.value = value
  }, [value])
  const otherFilters = [...new Map(searchParams)].filter(
    ([key]) => key !== name && key !== 'cursor',
  )
  return (
    <search className="min-w-0 flex-1 basis-64">
      <form
        method="get"
        onSubmit={event => {
          event.preventDefault()
          search(input.current?.value ?? '')
        }}
        className="relative"
      >
        {otherFilters.map(([key, filter]) => (
          <input key={key} type="hidden" name={key} value={filter} />
        ))}
        <Search
          size={16}
          aria-hidden
          className="pointer-events-none absolute top-2.5 left-3 text-muted"
        />
        <input
          ref={input}
          type="search"
          name={name}
          pattern={NO_WHOLE_TOKEN}
          aria-label={label}
          placeholder={label}
          defaultValue={value}
          maxLength={255}
          onChange={event => {
            const text = event.currentTarget.value
            clearTimeout(timer.current)
            timer.current = setTimeout(() => search(text), DEBOUNCE_MS)
          }}
          className="peer h-9 w-full rounded-chip border border-line2 bg-surface text-ellipsis pr-9 pl-9 text-[16px] md:text-small [&::-webkit-search-cancel-button]:hidden"
        />
        <button
          type="button"
          aria-label={`${t('clear')}: ${label}`}
          onClick={() => {
            if (!input.current) return
            input.current.value = ''
            input.current.focus()
            search('')
          }}
          className="absolute top-0 right-0 grid size-9 place-items-center rounded-chip text-muted hover:text-ink peer-placeholder-shown:hidden"
        >
          <X size={15} aria-hidden />
        </button>
      </form>
    </search>
  )
}
