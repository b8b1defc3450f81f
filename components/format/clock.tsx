import { useLocale, useTimeZone } from 'next-intl'

const LOOKS = {
  /** Within a day that is named above. */
  time: { timeStyle: 'short' },
  /** Where the day is not said. */
  moment: { dateStyle: 'medium', timeStyle: 'medium' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

interface ClockProps {
  at: string
  look?: keyof typeof LOOKS
}

/** The exact time of something, by the merchant's clock. */
export function Clock({ at, look = 'time' }: ClockProps) {
  const text = useTimeText()
  return (
    <time dateTime={at} title={text(at, LOOKS.moment)} className="whitespace-nowrap">
      {text(at, LOOKS[look])}
    </time>
  )
}

/** The day of a moment, in words. */
export function Day({ at }: { at: string }) {
  const text = useTimeText()
  return <>{text(at, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })}</>
}

function useTimeText() {
  const locale = useLocale()
  const timeZone = useTimeZone()
  return (at: string, look: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...look, timeZone }).format(new Date(at))
}
