import { useLocale, useNow, useTimeZone, useTranslations } from 'next-intl'
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
/** For a time in a sentence, where seconds are too exact. */
export const MOMENT_FORMAT = { dateStyle: 'medium', timeStyle: 'short' } as const
export const DATED_FORMAT = { dateStyle: 'medium', timeStyle: 'medium' } as const

/** Formats by name: the first is for times of today, the second for times of other days. */
const FORMATS = {
  /** Time only, for rows below a heading with the day. */
  minute: [{ timeStyle: 'short' }, { timeStyle: 'short' }],
  second: [{ timeStyle: 'medium' }, DATED_FORMAT],
  /** As `second`, with milliseconds. */
  millisecond: [{ timeStyle: 'medium' }, DATED_FORMAT],
  /** With the date, even today. */
  dated: [DATED_FORMAT, DATED_FORMAT],
} as const satisfies Record<string, [Intl.DateTimeFormatOptions, Intl.DateTimeFormatOptions]>

interface ExactTimeProps {
  at: string
  format: keyof typeof FORMATS
}

export function ExactTime({ at, format }: ExactTimeProps) {
  const locale = useLocale()
  const timeZone = useTimeZone()
  const date = new Date(at)
  const [todayFormat, otherDayFormat] = FORMATS[format]
  const isToday = calendarDay(date, timeZone) === calendarDay(useNow(), timeZone)
  const partsFormat = dateFormat(locale, { ...(isToday ? todayFormat : otherDayFormat), timeZone })
  const fraction = numberFormat(locale, { minimumFractionDigits: 3 })
    .format(date.getUTCMilliseconds() / 1_000)
    .slice(1)
  // `timeStyle` has no fractions, and without it each language would write the hour in another way.
  const text = partsFormat
    .formatToParts(date)
    .map(({ type, value }) =>
      type === 'second' && format === 'millisecond' ? value + fraction : value,
    )
    .join('')
    // Node's parts have a narrow space before PM where the browser's have a space: the page would differ from its HTML.
    .replaceAll('\u202f', ' ')
  return (
    <time
      dateTime={at}
      title={dateFormat(locale, { ...FULL_FORMAT, timeZone }).format(date)}
      className="whitespace-nowrap"
    >
      {text}
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

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** Symbols of the units, equal in every language of the interface. */
const UNITS = [
  ['d', DAY_S],
  ['h', HOUR_S],
  ['min', MINUTE_S],
  ['s', 1],
] as const
const NAMES = { d: 'day', h: 'hour', min: 'minute', s: 'second' } as const

interface Durations {
  /** The duration of a call: 212 ms, 1,2 s. */
  callDuration: (ms: number) => string
  /** A pause in its largest unit, rounded up: 3 min. */
  delay: (seconds: number) => string
  /** The remaining time in its two largest units: 3 min 12 s. */
  remaining: (seconds: number) => string
  /** A duration in its largest unit and the next smaller unit, which may be zero: 3 min 0 s. */
  duration: (seconds: number) => string
  /** A duration in words, in the largest unit that it contains at least twice: 90 minutes. */
  inWords: (seconds: number) => string
}

export function useDurations(): Durations {
  const locale = useLocale()
  const t = useTranslations('when')
  return {
    callDuration: ms => callDurationText(ms, locale),
    delay: delayText,
    remaining: remainingText,
    duration: seconds => (seconds < 1 ? t('instant') : durationText(seconds)),
    inWords: seconds => durationWords(seconds, locale),
  }
}

export function callDurationText(ms: number, locale: string): string {
  const format = numberFormat(locale, { maximumFractionDigits: 1 })
  return ms < 1_000 ? `${format.format(ms)} ms` : `${format.format(ms / 1_000)} s`
}

export function delayText(seconds: number): string {
  const [symbol, length] = UNITS.find(([, unitS]) => seconds >= unitS) ?? UNITS[3]
  return `${Math.ceil(seconds / length)} ${symbol}`
}

export function remainingText(seconds: number): string {
  const shown = partsOf(Math.max(0, Math.ceil(seconds))).filter(([value]) => value > 0)
  return textOf(shown.slice(0, 2)) || '0 s'
}

export function durationText(seconds: number): string {
  const parts = partsOf(Math.round(seconds))
  const first = parts.findIndex(([value]) => value > 0)
  return textOf(parts.slice(first, first + 2))
}

export function durationWords(seconds: number, locale: string): string {
  const [symbol, length] = UNITS.find(([, unitS]) => seconds >= 2 * unitS) ?? UNITS[3]
  const options = { style: 'unit', unit: NAMES[symbol], unitDisplay: 'long' } as const
  return numberFormat(locale, options).format(Math.floor(seconds / length))
}

/** Formats a countdown as a clock: 23:41:08, and from one day on 29 d 23:41:08. */
export function clockText(seconds: number): string {
  const [days = 0, ...clock] = partsOf(seconds).map(([value]) => value)
  const text = clock.map(value => String(value).padStart(2, '0')).join(':')
  return days > 0 ? `${days} d ${text}` : text
}

const TICK_MS = 1_000

export function useSecondsTo(at: string): number {
  const now = useNow({ updateInterval: TICK_MS })
  return (Date.parse(at) - now.getTime()) / 1_000
}

type Part = readonly [value: number, symbol: string]

function partsOf(seconds: number): Part[] {
  return UNITS.map(([symbol, length], index) => {
    const nextLargerS = UNITS[index - 1]?.[1] ?? Number.POSITIVE_INFINITY
    return [Math.floor((seconds % nextLargerS) / length), symbol]
  })
}

function textOf(parts: Part[]): string {
  return parts.map(([value, symbol]) => `${value} ${symbol}`).join(' ')
}
