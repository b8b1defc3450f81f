'use client'

import { useLocale, useNow, useTimeZone } from 'next-intl'

/** By the thousandth of a second, and with its day unless that is today. */
export function ExactTime({ at }: { at: string }) {
  const locale = useLocale()
  const timeZone = useTimeZone()
  const now = useNow()
  const date = new Date(at)
  const say = (value: Date, look: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...look, timeZone }).format(value)
  const day = (value: Date) => say(value, { year: 'numeric', month: 'short', day: 'numeric' })
  const time = say(date, {
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  })
  return (
    <time dateTime={at} title={say(date, { dateStyle: 'full', timeStyle: 'long' })}>
      {day(date) === day(now) ? time : `${day(date)}, ${time}`}
    </time>
  )
}
