import { useLocale, useNow, useTimeZone } from 'next-intl'
import { dateFormat } from '#lib/core/locale.ts'

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
