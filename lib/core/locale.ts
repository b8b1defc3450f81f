export const LOCALES = ['pt-BR', 'en'] as const
export type Locale = (typeof LOCALES)[number]

export const LANGUAGE_NAMES: Record<Locale, string> = { 'pt-BR': 'Português', en: 'English' }

/** Returns the language of a locale without its region: `pt` for `pt-BR`. */
export function languageOf(locale: string): string {
  return locale.split('-')[0] ?? locale
}

export function nextLocale(locale: Locale): Locale {
  return LOCALES[(LOCALES.indexOf(locale) + 1) % LOCALES.length] ?? locale
}

/** Returns the locale that a browser prefers; English if its header names no locale of the list. */
export function preferredLocale(acceptLanguage: string): Locale {
  const preferences = acceptLanguage
    .split(',')
    .flatMap(part => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const quality = parameters.find(parameter => parameter.trim().startsWith('q='))
      const locale = LOCALES.find(candidate => languageOf(candidate) === languageOf(tag))
      return locale ? [{ locale, weight: quality ? Number(quality.split('=')[1]) : 1 }] : []
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
  return preferences[0]?.locale ?? 'en'
}

/** One takes about 65 KB, and merchants choose among 400 time zones. */
const REMEMBERED_MAX = 100

const remembered = new Map<string, unknown>()

/**
 * To make a formatter takes 20 times as long as to use it; a list of charges uses hundreds. The first one of a
 * browser takes 10 ms: none is made where a file is loaded.
 */
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

/** The time of banks and of the operator's staff: Brasília, which has had no summer time since 2019. */
export const HOME_TIME_ZONE = 'America/Sao_Paulo'

/** The day of banks, such as `2026-11-20`. */
export function dayOf(at: Date): string {
  return dateFormat('en-CA', { timeZone: HOME_TIME_ZONE }).format(at)
}
