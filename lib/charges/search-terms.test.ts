import { expect, test } from 'vitest'
import { parseSearch } from '#lib/charges/search.ts'

const termsOf = (q: string) => parseSearch(q, false).terms.map(({ text, amount }) => [text, amount])

test.each([
  [
    'maria 446,54',
    [
      ['maria', null],
      ['446,54', 44_654],
    ],
  ],
  [
    '446,54  maria ',
    [
      ['maria', null],
      ['446,54', 44_654],
    ],
  ],
  ['446.54', [['446.54', 44_654]]],
  ['R$ 1.446,54', [['R$ 1.446,54', 144_654]]],
  [
    'ana r$ 12',
    [
      ['ana', null],
      ['12', 1_200],
    ],
  ],
  [
    '7 a',
    [
      ['a', null],
      [null, 700],
    ],
  ],
  ['50', [[null, 5_000]]],
  [
    'joão da da',
    [
      ['joão', null],
      ['da', null],
    ],
  ],
  ['a b c d e f g hh', [['hh', null], ...['a', 'b', 'c', 'd', 'e'].map(word => [word, null])]],
  ['', []],
])('the words of %j are texts and amounts, in few orders', (q, terms) => {
  expect(termsOf(q)).toEqual(terms)
})

test.each([
  ['529', '529'],
  ['529.982.2', '5299822'],
  ['12.abc', '12ABC'],
  ['52', null],
  ['abc', null],
  ['446,54', null],
  ['112223330001812', null],
])('the beginning of a document in %j is %j', (q, document) => {
  expect(parseSearch(q, true).document).toBe(document)
  expect(parseSearch(q, false).document).toBeNull()
})

test.each([
  ['a1b2', '2B1A'],
  ['4e5f', 'F5E4'],
  ['123', null],
  ['silva', null],
  ['a1 b2', null],
])('the end of an end-to-end id in %j is %j, reversed', (q, tail) => {
  expect(parseSearch(q, false).tail).toBe(tail)
})
