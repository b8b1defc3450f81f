import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LOCALES } from '#lib/core/locale.ts'
import {
  AMOUNT_MAX,
  formatDecimalAmount,
  formatReais,
  parseReais,
  parseSearchedReais,
  readReais,
} from '#lib/core/money.ts'
import fc from '#lib/testing/property.ts'

/** Writes a Portuguese notation the English way: the two separators change places. */
const mirror = (text: string) => text.replace(/[.,]/g, char => (char === ',' ? '.' : ','))

test.each([
  ['0', 0],
  ['5', 500],
  ['15', 1_500],
  ['150', 15_000],
  ['1234', 123_400],
  ['05', 500],
  ['007', 700],
  ['1 500', 150_000],
  ['1 234,56', 123_456],
  ['0,05', 5],
  ['0,5', 50],
  ['15,5', 1_550],
  ['15,00', 1_500],
  ['150,00', 15_000],
  ['1234,56', 123_456],
  ['1.234', 123_400],
  ['1.234,5', 123_450],
  ['1.234,56', 123_456],
  ['12.345,67', 1_234_567],
  ['123.456,78', 12_345_678],
  ['1.234.567', 123_456_700],
  ['R$ 15,00', 1_500],
  ['R$1.234,56', 123_456],
  [' R$\u00a01.234,56 ', 123_456],
  ['9999999999,99', AMOUNT_MAX],
  ['9.999.999.999,99', AMOUNT_MAX],
])('%j is %d cents in Portuguese, and its mirror image in English', (text, cents) => {
  expect(readReais(text, 'pt-BR')).toEqual({ amount: cents, readings: [] })
  expect(readReais(mirror(text), 'en')).toEqual({ amount: cents, readings: [] })
})

// The readings are in the notation of the same language.
test.each([
  ['10,999', ['109,99', '10.999,00']],
  ['0.999', ['9,99', '999,00']],
  ['12 34', ['12,34', '1.234,00']],
  ['1 2345', ['123,45', '12.345,00']],
  ['1.23456', ['1.234,56', '123.456,00']],
  ['1.2345', ['123,45', '12.345,00']],
  ['1.234.56', ['1.234,56', '123.456,00']],
  ['12.34.567', ['12.345,67', '1.234.567,00']],
  ['12,,34', ['12,34', '1.234,00']],
  ['1.234,567', ['12.345,67', '1.234.567,00']],
  ['15,', ['15,00']],
  [',50', ['0,50', '50,00']],
])(
  '%j is refused in Portuguese, and offered as %j; its mirror image in English',
  (text, readings) => {
    const offer = (locale: string, typed: string) => {
      const answer = readReais(typed, locale)
      expect(answer.amount).toBeNull()
      return answer.readings.map(cents => formatReais(cents, locale))
    }
    expect(offer('pt-BR', text)).toEqual(readings)
    expect(offer('en', mirror(text))).toEqual(readings.map(mirror))
  },
)

test.each([
  ['10.00', 1_000],
  ['1500.00', 150_000],
  ['12.3', 1_230],
  ['0.05', 5],
  ['1,234.56', 123_456],
  ['R$ 1,234,567.8', 123_456_780],
])(
  '%j, as English writes it, is %d cents in Portuguese, and its mirror image in English',
  (text, cents) => {
    expect(readReais(text, 'pt-BR')).toEqual({ amount: cents, readings: [] })
    expect(readReais(mirror(text), 'en')).toEqual({ amount: cents, readings: [] })
  },
)

test.each([
  '',
  ' ',
  'R$',
  'abc',
  '-15',
  '+15',
  '1e3',
  '0x10',
  '１５',
  '15 reais',
  '.',
  ',',
  '1/2',
  '10000000000,00',
  '99999999999',
  '99999999999999',
])('%j is no amount and has no reading', text => {
  for (const locale of LOCALES)
    expect(readReais(text, locale)).toEqual({ amount: null, readings: [] })
})

const amounts = fc.integer({ min: 0, max: AMOUNT_MAX })
/** Every way of writing an amount: with and without groups, and with as few decimals as it has. */
const notations = (amount: number, locale: string) => {
  const grouped = formatReais(amount, locale)
  const [group, decimal] = locale === 'pt-BR' ? ['.', ','] : [',', '.']
  const all = [grouped, grouped.replaceAll(group, '')].flatMap(text => [
    text,
    text.replace(/0$/, ''),
    text.split(decimal)[0] ?? '',
  ])
  return all.filter(text => parseReais(text, locale) === amount)
}

test.each(LOCALES)('an amount formatted for an input is read as the same amount (%s)', locale => {
  fc.assert(
    fc.property(amounts, amount => {
      expect(readReais(formatReais(amount, locale), locale)).toEqual({ amount, readings: [] })
    }),
  )
})

test.each(LOCALES)(
  'no surplus character but a digit, and no missing one but the decimal mark, makes more than ten times as much (%s)',
  locale => {
    fc.assert(
      fc.property(amountsOfAnySize(), amount => {
        for (const text of notations(amount, locale)) {
          const mark = formatReais(0, locale).charAt(1)
          const shorter = withoutOne(text).filter(one => one.includes(mark) === text.includes(mark))
          for (const edited of [...shorter, ...withOneMore(text, '.,  -R$x'.split(''))])
            expect(parseReais(edited, locale) ?? 0, edited).toBeLessThanOrEqual(10 * amount)
        }
      }),
    )
  },
)

test.each(LOCALES)(
  'a surplus digit stays where it was typed and moves no separator (%s)',
  locale => {
    fc.assert(
      fc.property(amountsOfAnySize(), amount => {
        for (const text of notations(amount, locale)) {
          for (const edited of withOneMore(text, '0123456789'.split(''))) {
            const read = parseReais(edited, locale)
            const separators = (value: string) => value.replace(/\d/g, '')
            if (read === null) continue
            expect(String(Math.floor(read / 100)).length, edited).toBeLessThanOrEqual(
              String(Math.floor(amount / 100)).length + 1,
            )
            expect(separators(edited)).toBe(separators(text))
          }
        }
      }),
    )
  },
)

test.each(LOCALES)('each reading that is offered is read as itself (%s)', locale => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\d., ]{1,14}$/), text => {
      const { amount, readings } = readReais(text, locale)
      expect(amount === null || readings.length === 0).toBe(true)
      expect(new Set(readings).size).toBe(readings.length)
      for (const reading of readings)
        expect(parseReais(formatReais(reading, locale), locale)).toBe(reading)
    }),
  )
})

test.each(LOCALES)('each reading that is offered keeps all digits that were typed (%s)', locale => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\d., ]{1,14}$/), text => {
      const digits = text.replace(/\D/g, '').replace(/^0+/, '')
      for (const reading of readReais(text, locale).readings)
        expect([digits, `${digits}0`, `${digits}00`]).toContain(String(reading || ''))
    }),
  )
})

/** Amounts of one to twelve digits with equal chance: uniform ones nearly all have twelve. */
function amountsOfAnySize() {
  return fc
    .integer({ min: 1, max: 12 })
    .chain(digits => fc.integer({ min: 0, max: 10 ** digits - 1 }))
}

function withoutOne(text: string): string[] {
  return [...text].map((_, index) => text.slice(0, index) + text.slice(index + 1))
}

function withOneMore(text: string, characters: string[]): string[] {
  const places = Array.from({ length: text.length + 1 }, (_, index) => index)
  return places.flatMap(place =>
    characters.map(character => text.slice(0, place) + character + text.slice(place)),
  )
}

test('the table of docs/decisions/054 says what is understood, in both languages', () => {
  const file = readFileSync('docs/decisions/054-typed-amounts.md', 'utf8')
  const rows = [...file.matchAll(/^`(.+)` \| (.+) \| (.+)$/gm)].map(([, ...cells]) => cells)
  const describeReading = (text: string, locale: string) => {
    const { amount, readings } = readReais(text, locale)
    if (amount !== null) return formatReais(amount, locale)
    if (readings.length === 0) return 'refused'
    return `asks ${readings.map(reading => formatReais(reading, locale)).join(' or ')}`
  }
  expect(rows).toHaveLength(60)
  for (const [text = '', portuguese, english] of rows) {
    expect([text, describeReading(text, 'pt-BR')]).toEqual([text, portuguese])
    expect([text, describeReading(text, 'en')]).toEqual([text, english])
  }
})

test.each([
  ['1234', 123_400],
  ['007', 700],
  ['1.234', 123_400],
  ['1,234', 123_400],
  ['446,54', 44_654],
  ['446.54', 44_654],
  ['r$ 1 446,54', 144_654],
  ['R$ 1,446.54', 144_654],
  ['9999999999', 999_999_999_900],
  ['10000000000', null],
  ['10,9999', null],
  ['1.23.456', null],
  ['ana', null],
  ['', null],
  ['-5', null],
])('a search for %j is one for %j cents', (text, cents) => {
  expect(parseSearchedReais(text)).toBe(cents)
})

test('no text means different amounts in two languages', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\d.,]{1,12}$/), text => {
      const amounts = LOCALES.map(locale => parseReais(text, locale))
      expect(new Set(amounts.filter(amount => amount !== null)).size).toBeLessThanOrEqual(1)
    }),
  )
})

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
