import {
  dateFormat,
  LOCALES,
  type Locale,
  languageOf,
  numberFormat,
  preferredLocale,
} from '#lib/core/locale.ts'
import { PAYER_WORDS } from '#messages/words.ts'

type TextKey = keyof (typeof PAYER_WORDS)[Locale]['payer']

export interface PayerTexts {
  locale: Locale
  t: (key: TextKey, values?: Record<string, string>) => string
  money: (cents: number) => MoneyParts
  moneyText: (cents: number) => string
  timeText: (at: string, timeZone: string) => string
}

interface MoneyParts {
  whole: string
  rest: string
}

/** Returns the texts in the link's language, else in the browser's. */
export function createPayerTexts(lang: string | null, acceptLanguage: string | null): PayerTexts {
  const linkLocale = LOCALES.find(known => languageOf(known) === lang)
  const locale = linkLocale ?? preferredLocale(acceptLanguage ?? '')
  const messages = PAYER_WORDS[locale].payer
  const format = numberFormat(locale, { minimumFractionDigits: 2 })
  const money = (cents: number) => {
    const text = format.format(cents / 100)
    return { whole: text.slice(0, -3), rest: text.slice(-3) }
  }
  return {
    locale,
    t: (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? ''),
    money,
    moneyText: cents => `R$\u00a0${format.format(cents / 100)}`,
    timeText: (at, timeZone) =>
      dateFormat(locale, {
        dateStyle: 'medium',
        timeStyle: 'short',
        timeZone,
      }).format(new Date(at)),
  }
}
