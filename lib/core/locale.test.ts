import { expect, test } from 'vitest'
import { LANGUAGE_NAMES, LOCALES, nextLocale, preferredLocale } from '#lib/core/locale.ts'

test.each([
  ['pt-BR,pt;q=0.9,en;q=0.8', 'pt-BR'],
  ['pt', 'pt-BR'],
  ['pt-PT', 'pt-BR'],
  ['en-US,en;q=0.9,pt-BR;q=0.8', 'en'],
  ['en;q=0.4, pt;q=0.7', 'pt-BR'],
  ['de-DE, pt;q=0.3', 'pt-BR'],
  ['pt;q=0, en', 'en'],
  ['de', 'en'],
  ['*', 'en'],
  ['', 'en'],
])('Accept-Language %j selects %s', (header, locale) => {
  expect(preferredLocale(header)).toBe(locale)
})

test('the language switch cycles through all languages, and each has a name of its own', () => {
  const offered = LOCALES.map(nextLocale)
  expect(offered).toEqual([...LOCALES.slice(1), LOCALES[0]])
  expect(new Set(offered.map(locale => LANGUAGE_NAMES[locale])).size).toBe(LOCALES.length)
})
