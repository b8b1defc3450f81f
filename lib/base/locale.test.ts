import { expect, test } from 'vitest'
import { preferredLocale } from '#lib/base/locale.ts'

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
])('a browser that asks for %j reads %s', (header, locale) => {
  expect(preferredLocale(header)).toBe(locale)
})
