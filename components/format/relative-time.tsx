'use client'

import { useLocale, useNow, useTimeZone, useTranslations } from 'next-intl'
import { useId } from 'react'
import { calendarDay, FULL_FORMAT, useTimeText } from '#components/format/format.tsx'
import { dateFormat, relativeTimeFormat } from '#lib/core/locale.ts'

/** Refresh interval, so that "há 4 min" becomes "há 5 min" in time. */
const TICK_MS = 30_000

const SIDES = { start: 'left-0', end: 'right-0' }

interface RelativeTimeProps {
  at: string
  /** Edge to which the tooltip is aligned. Use `end` near the right edge of the page. */
  side?: keyof typeof SIDES
  /** Whether it is in a row that is one link: the exact time opens on the focus of that link. */
  isInRow?: boolean
}

export function RelativeTime({ at, side = 'start', isInRow = false }: RelativeTimeProps) {
  const locale = useLocale()
  const timeZone = useTimeZone()
  const now = useNow({ updateInterval: TICK_MS })
  const t = useTranslations('when')
  const id = useId()
  const date = new Date(at)
  const text = useTimeText()
  const ago = timeAgo(date, now, locale, timeZone)
  return (
    <span className="group relative inline-block">
      <time
        dateTime={at}
        tabIndex={isInRow ? undefined : 0}
        aria-describedby={id}
        className="rounded-[4px] whitespace-nowrap"
      >
        {ago === 'now'
          ? t('now')
          : ago === 'yesterday'
            ? t('yesterday', { time: text(at, { timeStyle: 'short' }) })
            : ago}
      </time>
      <span
        role="tooltip"
        id={id}
        className={`pointer-events-none absolute bottom-full z-20 mb-1.5 hidden whitespace-nowrap rounded-control bg-ink px-2.5 py-1 text-paper text-small group-focus-within:block group-hover:block [:is(tr,li):has(:is(a,button):focus-visible)_&]:block ${SIDES[side]}`}
      >
        {text(at, FULL_FORMAT)}
      </span>
    </span>
  )
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Hours up to which "há 5 h" is clearer than "ontem". */
const HOURS_MAX = 12
/** Days up to which "em 20 dias" is clearer than a date. */
const DAYS_AHEAD_MAX = 31

function timeAgo(date: Date, now: Date, locale: string, timeZone: string | undefined): string {
  const ageMs = now.getTime() - date.getTime()
  if (ageMs <= -MINUTE_MS && ageMs > -DAYS_AHEAD_MAX * 24 * HOUR_MS)
    return timeAhead(-ageMs, locale)
  if (ageMs < MINUTE_MS && ageMs > -MINUTE_MS) return 'now'
  const relative = relativeTimeFormat(locale, { style: 'short' })
  const formatAgo = (value: number, unit: 'minute' | 'hour') =>
    relative.format(-value, unit).replaceAll('.', '')
  if (ageMs > 0 && ageMs < HOUR_MS) return formatAgo(Math.floor(ageMs / MINUTE_MS), 'minute')
  if (ageMs > 0 && ageMs < HOURS_MAX * HOUR_MS)
    return formatAgo(Math.floor(ageMs / HOUR_MS), 'hour')
  const formatDay = (value: Date) => calendarDay(value, timeZone)
  if (formatDay(date) === formatDay(now)) return formatAgo(Math.floor(ageMs / HOUR_MS), 'hour')
  if (formatDay(date) === formatDay(new Date(now.getTime() - 24 * HOUR_MS))) return 'yesterday'
  const isSameYear = formatDay(date).slice(0, 4) === formatDay(now).slice(0, 4)
  const year = isSameYear ? undefined : 'numeric'
  return dateFormat(locale, { day: 'numeric', month: 'short', year, timeZone }).format(date)
}

function timeAhead(aheadMs: number, locale: string): string {
  const relative = relativeTimeFormat(locale, { style: 'short' })
  const [unit, lengthMs] =
    aheadMs < HOUR_MS
      ? (['minute', MINUTE_MS] as const)
      : aheadMs < 48 * HOUR_MS
        ? (['hour', HOUR_MS] as const)
        : (['day', 24 * HOUR_MS] as const)
  return relative.format(Math.floor(aheadMs / lengthMs), unit).replaceAll('.', '')
}
