import { expect, test } from 'vitest'
import { AMOUNT_MAX, formatDecimalAmount, formatReais, parseReais } from '#lib/base/money.ts'
import fc from '#lib/testing/property.ts'

test.each([
  ['15', 1_500],
  ['15,00', 1_500],
  ['15.00', 1_500],
  ['15,5', 1_550],
  ['1.234,56', 123_456],
  ['1,234.56', 123_456],
  ['1.234', 123_400],
  ['1,234', 123_400],
  ['1.234.567', 123_456_700],
  ['1.234.567,8', 123_456_780],
  ['R$ 15,00', 1_500],
  [' R$\u00a01.234,56 ', 123_456],
  ['0,05', 5],
  ['0', 0],
  ['9999999999,99', AMOUNT_MAX],
])('%j is %d cents', (text, cents) => {
  expect(parseReais(text)).toBe(cents)
})

test.each([
  '',
  ' ',
  'R$',
  'abc',
  '-15',
  '+15',
  '15,',
  ',50',
  '1,234,56',
  '1.234.56',
  '12.34.567',
  '1.234,567',
  '1e3',
  '15,000.0.0',
  '0x10',
  '１５',
  '10000000000,00',
])('%j is not an amount', text => {
  expect(parseReais(text)).toBeNull()
})

test.each(['pt-BR', 'en'])(
  'an amount formatted for an input is parsed as the same amount (%s)',
  locale => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: AMOUNT_MAX }), amount => {
        expect(parseReais(formatReais(amount, locale))).toBe(amount)
      }),
    )
  },
)

test('an amount has exactly two decimals, up to the largest safe integer', () => {
  expect([0, 5, -5, 10, 100, -123_456].map(formatDecimalAmount)).toEqual([
    '0.00',
    '0.05',
    '-0.05',
    '0.10',
    '1.00',
    '-1234.56',
  ])
  expect(formatDecimalAmount(Number.MAX_SAFE_INTEGER)).toBe('90071992547409.91')
})
