'use client'

import { useLocale, useNow, useTimeZone } from 'next-intl'

/** When exactly, to the second; the day too unless it is today. */
export function Moment({ at }: { at: string }) {
  const locale = useLocale()
  const timeZone = useTimeZone()
  const now = useNow()
  const date = new Date(at)
  const say = (look: Intl.DateTimeFormatOptions, what: Date) =>
    new Intl.DateTimeFormat(locale, { ...look, timeZone }).format(what)
  const isToday = say({ dateStyle: 'short' }, date) === say({ dateStyle: 'short' }, now)
  return (
    <time dateTime={at} className="whitespace-nowrap">
      {say(isToday ? { timeStyle: 'medium' } : { dateStyle: 'short', timeStyle: 'medium' }, date)}
    </time>
  )
}
