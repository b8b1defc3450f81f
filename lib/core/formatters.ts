import { processWide } from '#lib/core/process-wide.ts'

/** One takes about 65 KB, and merchants choose among 400 time zones. */
const REMEMBERED_MAX = 100

const remembered = processWide('formatters', () => new Map<string, unknown>())

/** To make a formatter takes 20 times as long as to use it; a list of charges uses hundreds. */
export function dateFormat(
  locale: string,
  options: Intl.DateTimeFormatOptions = {},
): Intl.DateTimeFormat {
  return remember(['date', locale, options], () => new Intl.DateTimeFormat(locale, options))
}

export function numberFormat(
  locale: string,
  options: Intl.NumberFormatOptions = {},
): Intl.NumberFormat {
  return remember(['number', locale, options], () => new Intl.NumberFormat(locale, options))
}

export function relativeTimeFormat(
  locale: string,
  options: Intl.RelativeTimeFormatOptions = {},
): Intl.RelativeTimeFormat {
  return remember(['relative', locale, options], () => new Intl.RelativeTimeFormat(locale, options))
}

/** Remembers what was used last. */
function remember<Format>(description: unknown[], make: () => Format): Format {
  const key = JSON.stringify(description)
  const format = (remembered.get(key) as Format | undefined) ?? make()
  remembered.delete(key)
  remembered.set(key, format)
  const [oldest] = remembered.keys()
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
  return format
}
