import { expect, test } from 'vitest'
import {
  dateFormat,
  LANGUAGE_NAMES,
  LOCALES,
  nextLocale,
  numberFormat,
  preferredLocale,
  relativeTimeFormat,
} from '#lib/core/locale.ts'

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

const MOMENT = new Date('2026-11-20T12:34:56Z')
const options = (timeZone: string) =>
  ({ dateStyle: 'long', timeStyle: 'medium', timeZone }) as const

test('a formatter is made once for each language and set of options', () => {
  const first = dateFormat('pt-BR', options('America/Recife'))
  expect(dateFormat('pt-BR', options('America/Recife'))).toBe(first)
  expect(dateFormat('en', options('America/Recife'))).not.toBe(first)
  expect(dateFormat('pt-BR', options('UTC'))).not.toBe(first)
  expect(numberFormat('en')).toBe(numberFormat('en'))
  expect(numberFormat('en', { style: 'percent' })).not.toBe(numberFormat('en'))
  expect(relativeTimeFormat('en', { style: 'short' })).toBe(
    relativeTimeFormat('en', { style: 'short' }),
  )
})

test('it formats as a new one, also one of another kind with the same options', () => {
  expect(dateFormat('en', options('Asia/Tokyo')).format(MOMENT)).toBe(
    new Intl.DateTimeFormat('en', options('Asia/Tokyo')).format(MOMENT),
  )
  expect(numberFormat('pt-BR').format(1_234.5)).toBe('1.234,5')
  expect(relativeTimeFormat('pt-BR').format(-2, 'day')).toBe('há 2 dias')
  expect(dateFormat('pt-BR').resolvedOptions().locale).toBe('pt-BR')
})

test('of many time zones, those in use are remembered and the others made again', () => {
  const used = dateFormat('en', options('UTC'))
  const unused = dateFormat('en', options('Asia/Tokyo'))
  for (const zone of Intl.supportedValuesOf('timeZone').filter(name => name !== 'Asia/Tokyo')) {
    dateFormat('en', options(zone))
    dateFormat('en', options('UTC'))
  }
  expect(dateFormat('en', options('UTC'))).toBe(used)
  expect(dateFormat('en', options('Asia/Tokyo'))).not.toBe(unused)
})
