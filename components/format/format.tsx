import { useLocale, useNow, useTimeZone } from 'next-intl'
import { dateFormat, numberFormat } from '#lib/core/locale.ts'

/** Formats cents: R$ 1.234,56, or R$ 1,234.56 in English. */
export function moneyText(cents: number, locale: string): string {
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  return `${sign}R$ ${integer}${decimal}${fraction}`
}

function moneyParts(cents: number, locale: string) {
  const format = numberFormat(locale, { style: 'currency', currency: 'BRL' })
  const parts = format.formatToParts(Math.abs(cents) / 100)
  const join = (...types: string[]) =>
    parts
      .filter(part => types.includes(part.type))
      .map(part => part.value)
      .join('')
  return {
    sign: cents < 0 ? '-' : '',
    integer: join('integer', 'group'),
    decimal: join('decimal'),
    fraction: join('fraction'),
  }
}

interface MoneyProps {
  cents: number
}

export function Money({ cents }: MoneyProps) {
  return <span className="whitespace-nowrap">{moneyText(cents, useLocale())}</span>
}

/** Longest integer parts at full size: `10.000.000` (10) is wider than a small phone or column. */
const FULL_SIZE_LENGTH_MAX = 9
const FULL_SIZE_WIDE_LENGTH_MAX = 11

/** The main amount of a page, in large type; screen readers get it as plain text. */
export function HeroMoney({ cents, testId }: MoneyProps & { testId: string }) {
  const locale = useLocale()
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  return (
    <>
      <span aria-hidden className={`hero-amount ${heroSizeClass(integer.length)}`}>
        <span className="mr-[0.26em] font-[450] font-sans text-[0.5em] text-muted tracking-normal">
          R$
        </span>
        {sign}
        {integer}
        <span className="relative -top-[0.5em] ml-[0.02em] text-[0.46em] tracking-normal">
          {decimal}
          {fraction}
        </span>
      </span>
      <span className="sr-only" data-testid={testId}>
        {moneyText(cents, locale)}
      </span>
    </>
  )
}

function heroSizeClass(length: number): string {
  if (length > FULL_SIZE_WIDE_LENGTH_MAX) return 'text-[0.7em]'
  return length > FULL_SIZE_LENGTH_MAX ? 'max-xl:text-[0.7em]' : ''
}

export const FULL_FORMAT = { dateStyle: 'long', timeStyle: 'medium' } as const
export const DATED_FORMAT = { dateStyle: 'medium', timeStyle: 'medium' } as const

const TO_MILLISECOND = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
} as const
const DAY = { year: 'numeric', month: 'short', day: 'numeric' } as const

/** Formats by name: the first is for times of today, the second for times of other days. */
const FORMATS = {
  /** Time only, for rows below a heading with the day. */
  minute: [{ timeStyle: 'short' }, { timeStyle: 'short' }],
  second: [{ timeStyle: 'medium' }, { dateStyle: 'short', timeStyle: 'medium' }],
  millisecond: [TO_MILLISECOND, { ...DAY, ...TO_MILLISECOND }],
  /** With the date, even today. */
  dated: [DATED_FORMAT, DATED_FORMAT],
} as const satisfies Record<string, [Intl.DateTimeFormatOptions, Intl.DateTimeFormatOptions]>

interface ExactTimeProps {
  at: string
  format: keyof typeof FORMATS
}

export function ExactTime({ at, format }: ExactTimeProps) {
  const text = useTimeText()
  const timeZone = useTimeZone()
  const [todayFormat, otherDayFormat] = FORMATS[format]
  const isToday = calendarDay(new Date(at), timeZone) === calendarDay(useNow(), timeZone)
  return (
    <time dateTime={at} title={text(at, FULL_FORMAT)} className="whitespace-nowrap">
      {text(at, isToday ? todayFormat : otherDayFormat)}
    </time>
  )
}

export function Day({ at }: { at: string }) {
  const text = useTimeText()
  return <>{text(at, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })}</>
}

/** Formats moments in the user's language and the merchant's time zone. */
export function useTimeText(): (at: string, options: Intl.DateTimeFormatOptions) => string {
  const locale = useLocale()
  const timeZone = useTimeZone()
  return (at, options) => dateFormat(locale, { ...options, timeZone }).format(new Date(at))
}

/** Returns the calendar day of a moment as YYYY-MM-DD. */
export function calendarDay(date: Date, timeZone: string | undefined): string {
  return dateFormat('en-CA', { timeZone }).format(date)
}
