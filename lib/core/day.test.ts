import { expect, test } from 'vitest'
import { addDays, addMonths, formatDay, parseDay } from '#lib/core/day.ts'
import fc from '#lib/testing/property.ts'

test.each([
  ['pt-BR', '30/11/2026', '2026-11-30'],
  ['pt-BR', '3/1/2026', '2026-01-03'],
  ['pt-BR', '30.11.2026', '2026-11-30'],
  ['pt-BR', '30112026', '2026-11-30'],
  ['pt-BR', ' 2026-11-30 ', '2026-11-30'],
  ['pt-BR', '11/30/2026', null],
  ['pt-BR', '31/11/2026', null],
  ['pt-BR', '29/02/2027', null],
  ['pt-BR', '30/11/26', null],
  ['pt-BR', '30/11', null],
  ['pt-BR', '30 de nov. de 2026', null],
  ['pt-BR', '', null],
  ['en', '11/30/2026', '2026-11-30'],
  ['en', '11302026', '2026-11-30'],
  ['en', '30/11/2026', null],
])('%s: %s is read as %s', (locale, text, day) => {
  expect(parseDay(text, locale)).toBe(day)
})

const DAYS = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map(date => date.toISOString().slice(0, 10))

test('a day that is shown is read as the same day', () =>
  fc.assert(
    fc.property(DAYS, fc.constantFrom('pt-BR', 'en'), (day, locale) => {
      expect(parseDay(formatDay(day, locale), locale)).toBe(day)
    }),
  ))

test('days and months are counted over the ends of months and years', () => {
  expect(addDays('2026-12-31', 1)).toBe('2027-01-01')
  expect(addDays('2028-03-01', -1)).toBe('2028-02-29')
  expect(addMonths('2026-12-15', 1)).toBe('2027-01-15')
  expect(addMonths('2027-01-31', 1)).toBe('2027-02-28')
  expect(addMonths('2027-01-31', -2)).toBe('2026-11-30')
})
