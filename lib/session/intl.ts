import compile from 'icu-minify/compile'
import { getRequestConfig } from 'next-intl/server'
import type { Locale } from '#lib/core/locale.ts'
import { HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { chooseAccount, currentUser } from '#lib/session/gate.ts'
import { readLocale } from '#lib/session/preferences.ts'
import { MESSAGES, type Messages } from '#messages/words.ts'

declare module 'next-intl' {
  interface AppConfig {
    Locale: Locale
    Messages: Messages
  }
}

/** Configures next-intl for each request; next.config.js refers to this file by name. */
export default getRequestConfig(async () => {
  const [locale, user] = await Promise.all([readLocale(), currentUser()])
  const account = user && (await chooseAccount(user))
  const timeZone = account?.timeZone ?? HOME_TIME_ZONE
  return { locale, messages: compiledMessages(locale), timeZone, now: new Date() }
})

const compiled = new Map<Locale, Messages>()

/** Parses the messages once per process, so that the browser needs no parser. */
function compiledMessages(locale: Locale): Messages {
  // Parsed from JSON, because React sends no objects without a prototype, such as the compiler makes.
  const messages: Messages =
    compiled.get(locale) ?? JSON.parse(JSON.stringify(compileEach(MESSAGES[locale])))
  compiled.set(locale, messages)
  return messages
}

function compileEach(messages: object): object {
  return Object.fromEntries(
    Object.entries(messages).map(([key, value]) => [
      key,
      typeof value === 'string' ? compile(value) : compileEach(value),
    ]),
  )
}
