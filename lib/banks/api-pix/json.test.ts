import { expect, test } from 'vitest'
import { centsOf, countOf, elementsOf, fieldsOf, textOf, timeOf } from '#lib/banks/api-pix/json.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'

test.each([
  ['15.00', 1_500],
  [15, 1_500],
  [15.1, 1_510],
  ['4.35', 435],
  ['0.01', 1],
  ['9999999999.99', 999_999_999_999],
  ['15.001', null],
  ['1,50', null],
  ['-1.00', null],
  [1e21, null],
  [null, null],
])('the amount %j is %j cents', (value, cents) => {
  expect(centsOf(value)).toBe(cents)
  if (typeof value === 'string' && cents !== null) expect(formatDecimalAmount(cents)).toBe(value)
})

test.each([
  ['2026-11-20T12:00:00Z', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20T09:00:00.5-03:00', '2026-11-20T12:00:00.500Z'],
  ['2026-11-20T12:00:00', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20', undefined],
  ['2026-13-20T12:00:00Z', undefined],
  [1_700_000_000, undefined],
])('the time %j is %j', (value, time) => {
  expect(timeOf(value)?.toISOString()).toBe(time)
})

test('what is missing, null or of another kind is absent', () => {
  expect([3_600, '3600', '1.5', -1, null].map(countOf)).toEqual([3_600, 3_600, null, null, null])
  expect(['a', 7, '', null, {}].map(textOf)).toEqual(['a', '7', null, null, null])
  expect(['a\0', '\ud800', '\u{1f600}'].map(textOf)).toEqual([null, null, '\u{1f600}'])
  expect([{ a: 1 }, [1], null, 'a'].map(fieldsOf)).toEqual([{ a: 1 }, {}, {}, {}])
  expect([[1], { 0: 1 }, null].map(elementsOf)).toEqual([[1], [], []])
})
