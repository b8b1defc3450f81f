import { useLocale, useNow, useTimeZone, useTranslations } from 'next-intl'
import { useId } from 'react'

/** Cents as people read them: R$ 1.234,56, or R$ 1,234.56 in English. */
export function moneyText(cents: number, locale: string): string {
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  return `${sign}R$ ${integer}${decimal}${fraction}`
}

function moneyParts(cents: number, locale: string) {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' })
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

/** From ten million on an amount at full size is wider than a small phone. */
const LONG_MIN = 9

/** The amount that a page is about: R$ small, cents raised; read aloud it is one plain amount. */
export function HeroMoney({ cents, testId }: MoneyProps & { testId: string }) {
  const locale = useLocale()
  const { sign, integer, decimal, fraction } = moneyParts(cents, locale)
  const isLong = integer.length > LONG_MIN
  return (
    <>
      <span aria-hidden className={`hero-amount ${isLong ? 'max-md:text-[0.7em]' : ''}`}>
        <span className="mr-[0.26em] font-[450] text-[0.5em] text-muted tracking-normal">R$</span>
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

const SIDES = { start: 'left-0', end: 'right-0' }

interface WhenProps {
  at: string
  /** Which edge of the words the exact time is flush with: end near the right edge of the page. */
  side?: keyof typeof SIDES
}

/** How long ago, with the exact time for whoever points at it or tabs to it. */
export function When({ at, side = 'start' }: WhenProps) {
  const locale = useLocale()
  const timeZone = useTimeZone()
  const now = useNow()
  const t = useTranslations('when')
  const id = useId()
  const date = new Date(at)
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone }).format(date)
  const ago = timeAgo(date, now, locale, timeZone)
  const exact = new Intl.DateTimeFormat(locale, {
    dateStyle: 'long',
    timeStyle: 'medium',
    timeZone,
  })
  return (
    <span className="group relative inline-block">
      <time
        dateTime={at}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard, too, reaches the exact time
        tabIndex={0}
        aria-describedby={id}
        className="rounded-[4px] whitespace-nowrap"
      >
        {ago === 'now' ? t('now') : ago === 'yesterday' ? t('yesterday', { time }) : ago}
      </time>
      <span
        role="tooltip"
        id={id}
        className={`pointer-events-none absolute bottom-full z-20 mb-1.5 hidden whitespace-nowrap rounded-control bg-ink px-2.5 py-1 text-paper text-small group-focus-within:block group-hover:block ${SIDES[side]}`}
      >
        {exact.format(date)}
      </span>
    </span>
  )
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Until here "há 5 h" says more than "ontem". */
const HOURS_MAX = 12

function timeAgo(date: Date, now: Date, locale: string, timeZone: string | undefined): string {
  const ageMs = now.getTime() - date.getTime()
  if (ageMs < MINUTE_MS) return 'now'
  const relative = new Intl.RelativeTimeFormat(locale, { style: 'short' })
  const say = (value: number, unit: 'minute' | 'hour') =>
    relative.format(-value, unit).replaceAll('.', '')
  if (ageMs < HOUR_MS) return say(Math.floor(ageMs / MINUTE_MS), 'minute')
  if (ageMs < HOURS_MAX * HOUR_MS) return say(Math.floor(ageMs / HOUR_MS), 'hour')
  const day = (value: Date) => new Intl.DateTimeFormat('en-CA', { timeZone }).format(value)
  if (day(date) === day(now)) return say(Math.floor(ageMs / HOUR_MS), 'hour')
  if (day(date) === day(new Date(now.getTime() - 24 * HOUR_MS))) return 'yesterday'
  const sameYear = day(date).slice(0, 4) === day(now).slice(0, 4)
  const year = sameYear ? undefined : 'numeric'
  return new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year, timeZone }).format(
    date,
  )
}
