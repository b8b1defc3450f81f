import { getRequestConfig } from 'next-intl/server'
import { readLocale } from '#lib/session/preferences.ts'
import type { Locale } from '#lib/session/schema.ts'
import en from '../../messages/en.json' with { type: 'json' }
import ptBR from '../../messages/pt-BR.json' with { type: 'json' }

declare module 'next-intl' {
  interface AppConfig {
    Locale: Locale
    Messages: typeof ptBR
  }
}

const MESSAGES = { 'pt-BR': ptBR, en }

/** Where the house is: the day ends at the merchant's midnight, wherever the server stands. */
const TIME_ZONE = 'America/Sao_Paulo'

/** What next-intl asks at each request; next.config.js names this file to it. */
export default getRequestConfig(async () => {
  const locale = await readLocale()
  return { locale, messages: MESSAGES[locale], timeZone: TIME_ZONE, now: new Date() }
})
