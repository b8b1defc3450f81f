import { isValidCnpj as theirCnpj } from '@brazilian-utils/brazilian-utils/is-valid-cnpj'
import { isValidCpf as theirCpf } from '@brazilian-utils/brazilian-utils/is-valid-cpf'
import { describe, expect, test } from 'vitest'
import fc from '#lib/testing/property.ts'
import {
  formatTaxId,
  isValidCnpj,
  isValidCpf,
  maskTaxId,
  normalizeTaxId,
  taxIdKind,
} from './tax-id.ts'

const endings = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))
const formatCpf = (bare: string) => bare.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4')
const formatCnpj = (bare: string) => bare.replace(/(..)(...)(...)(....)(..)/, '$1.$2.$3/$4-$5')

describe('CPF', () => {
  test.each(
    '52998224725 11144477735 01234567890 94271564656 98765432100 39053344705 00000000191 12345678909'.split(
      ' ',
    ),
  )('%s is valid, with and without punctuation', cpf => {
    expect(isValidCpf(cpf)).toBe(true)
    expect(isValidCpf(formatCpf(cpf))).toBe(true)
    expect(taxIdKind(formatCpf(cpf))).toBe('cpf')
    expect(isValidCnpj(cpf)).toBe(false)
  })

  test.each(['11111111111', '12345678900', '5299822472', '52998224724', 'abc52998224725', ''])(
    '"%s" is invalid',
    cpf => {
      expect(isValidCpf(cpf)).toBe(false)
    },
  )

  test('each base has exactly one pair of check digits, the same as in @brazilian-utils', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{9}$/), base => {
        fc.pre(!/^(.)\1*$/.test(base))
        const valid = endings.filter(ending => isValidCpf(base + ending))
        expect(valid).toHaveLength(1)
        expect(valid).toEqual(endings.filter(ending => theirCpf(base + ending)))
      }),
    )
  })

  test('a CPF of one repeated digit is invalid', () => {
    for (const digit of '0123456789') expect(isValidCpf(digit.repeat(11))).toBe(false)
  })
})

describe('CNPJ', () => {
  test.each([
    '12ABC34501DE35',
    '11222333000181',
    '00000000000191',
    '12345678000195',
    'ABCDEFGHIJKL80',
    'A0B1C2D3E4F508',
    'ZZZZZZZZZZZZ62',
    '1A2B3C4D000179',
    '9WXYZ876000138',
    'PIXBR000000120',
    '00000000000A04',
    '60746948A0B157',
  ])('%s is valid, with and without punctuation and in lower case', cnpj => {
    expect(isValidCnpj(cnpj)).toBe(true)
    expect(isValidCnpj(formatCnpj(cnpj))).toBe(true)
    expect(isValidCnpj(cnpj.toLowerCase())).toBe(true)
    expect(taxIdKind(cnpj)).toBe('cnpj')
    expect(theirCnpj(cnpj, { version: 2 })).toBe(true)
  })

  test.each([
    '00000000000000',
    '12ABC34501DE3A',
    '12ABC34501DE34',
    '11222333000182',
    '12ABC34501D35',
    '12ÁBC34501DE35',
  ])('%s is invalid', cnpj => {
    expect(isValidCnpj(cnpj)).toBe(false)
    expect(theirCnpj(cnpj, { version: 2 })).toBe(false)
  })

  test('each base has exactly one pair of check digits, the same as in @brazilian-utils', () => {
    const base = fc.oneof(fc.stringMatching(/^[0-9A-Z]{12}$/), fc.stringMatching(/^\d{12}$/))
    fc.assert(
      fc.property(base, base => {
        fc.pre(!/^(.)\1*$/.test(base))
        const valid = endings.filter(ending => isValidCnpj(base + ending))
        expect(valid).toHaveLength(1)
        expect(valid).toEqual(endings.filter(ending => theirCnpj(base + ending, { version: 2 })))
      }),
    )
  })

  test('a CNPJ of one repeated digit is invalid', () => {
    for (const digit of '0123456789') expect(isValidCnpj(digit.repeat(14))).toBe(false)
  })
})

describe('the form of a document', () => {
  test.each([
    ['529.982.247-25', '52998224725'],
    ['12.abc.345/01de-35', '12ABC34501DE35'],
    [' 11 222 333 0001 81 ', '11222333000181'],
    ['12ÁBC34501DE35', '12ÁBC34501DE35'],
    ['ſ1', 'ſ1'],
    ['ß', 'ß'],
    ['529_982', '529_982'],
  ])('%s without separators is %s', (text, bare) => {
    expect(normalizeTaxId(text)).toBe(bare)
  })

  test('the form alone distinguishes CPF and CNPJ, whatever the check digits', () => {
    expect(taxIdKind('123.456.789-00')).toBe('cpf')
    expect(taxIdKind('12.abc.345/01de-00')).toBe('cnpj')
  })

  test.each([
    '',
    '1234567890',
    '123456789012',
    '12ABC34501DE3A',
    '5299822472A',
    '٥٢٩٩٨٢٢٤٧٢٥',
    '52998224725\n',
  ])('%j is neither CPF nor CNPJ', text => {
    expect(taxIdKind(text)).toBeNull()
  })

  test('a formatted document is normalized to the same document', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[0-9A-Z]{12}\d{2}$/),
        fc.stringMatching(/^\d{11}$/),
        (cnpj, cpf) => {
          expect(normalizeTaxId(formatCnpj(cnpj))).toBe(cnpj)
          expect(normalizeTaxId(formatCpf(cpf))).toBe(cpf)
        },
      ),
    )
  })
})

test.each([
  ['123.456.789-09', '***.456.789-**'],
  ['12345678909', '***.456.789-**'],
  ['12.ABC.345/01DE-35', '**.ABC.345/****-**'],
  ['11222333000181', '**.222.333/****-**'],
  ['not a document', '***'],
])('%s is masked as %s', (text, masked) => {
  expect(maskTaxId(text)).toBe(masked)
})

test.each([
  ['52998224725', '529.982.247-25'],
  ['529.982.247-25', '529.982.247-25'],
  ['12abc34501de35', '12.ABC.345/01DE-35'],
  ['1234', '1234'],
  ['', ''],
])('a document is formatted, and other text does not change: %s', (text, formatted) => {
  expect(formatTaxId(text)).toBe(formatted)
})
