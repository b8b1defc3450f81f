import { useLocale, useNow, useTimeZone } from 'next-intl'

/** The exact time in full, for tooltips. */
export const EXACT = { dateStyle: 'long', timeStyle: 'medium' } as const
export const DATED = { dateStyle: 'medium', timeStyle: 'medium' } as const

const TO_MILLISECOND = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
} as const
const DAY = { year: 'numeric', month: 'short', day: 'numeric' } as const

/** Formats of a moment today, and of one on another day. */
const LOOKS = {
  /** Below a heading that names the day. */
  minute: [{ timeStyle: 'short' }, { timeStyle: 'short' }],
  second: [{ timeStyle: 'medium' }, { dateStyle: 'short', timeStyle: 'medium' }],
  millisecond: [TO_MILLISECOND, { ...DAY, ...TO_MILLISECOND }],
  /** With the date, even today. */
  dated: [DATED, DATED],
} as const satisfies Record<string, [Intl.DateTimeFormatOptions, Intl.DateTimeFormatOptions]>

interface ExactTimeProps {
  at: string
  look: keyof typeof LOOKS
}

export function ExactTime({ at, look }: ExactTimeProps) {
  const text = useTimeText()
  const timeZone = useTimeZone()
  const [ofToday, ofOtherDays] = LOOKS[look]
  const isToday = calendarDay(new Date(at), timeZone) === calendarDay(useNow(), timeZone)
  return (
    <time dateTime={at} title={text(at, EXACT)} className="whitespace-nowrap">
      {text(at, isToday ? ofToday : ofOtherDays)}
    </time>
  )
}

export function Day({ at }: { at: string }) {
  const text = useTimeText()
  return <>{text(at, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })}</>
}

/** Formats moments in the user's language and the merchant's time zone. */
export function useTimeText(): (at: string, look: Intl.DateTimeFormatOptions) => string {
  const locale = useLocale()
  const timeZone = useTimeZone()
  return (at, look) => new Intl.DateTimeFormat(locale, { ...look, timeZone }).format(new Date(at))
}

/** Returns the calendar day of a moment as YYYY-MM-DD. */
export function calendarDay(date: Date, timeZone: string | undefined): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(date)
}
