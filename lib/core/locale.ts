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
