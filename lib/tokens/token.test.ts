import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import fc from '#lib/testing/property.ts'
import { isTokenText, makeToken } from '#lib/tokens/authenticate.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const readNumber = (digits: string) =>
  [...digits].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0)

test.each(['test', 'live'] as const)('a %s token contains its mode and its checksum', mode => {
  const token = makeToken(newId(), mode)
  expect(token).toMatch(new RegExp(`^troco_${mode}_[0-9A-Za-z]{38}$`))
  expect(readNumber(token.slice(-6))).toBe(crc32(token.slice(0, -6)))
  expect(isTokenText(token)).toBe(true)
})

test('10,000 tokens are all different and use every character', () => {
  const tokens = Array.from({ length: 10_000 }, () => makeToken(newId(), 'test'))
  expect(new Set(tokens).size).toBe(10_000)
  expect(new Set(tokens.map(token => token.slice(11, 43)).join(''))).toEqual(new Set(BASE62))
})

test('the first three characters are 58 times the bucket of the account, plus 0 to 57', () => {
  const numbers = Array.from({ length: 4_096 }, (_, bucket) => {
    const accountId = newId().slice(0, -3) + bucket.toString(16).padStart(3, '0')
    const token = makeToken(accountId, 'test')
    return readNumber(token.slice(11, 14)) - bucket * 58
  })
  expect(new Set(numbers)).toEqual(new Set(Array(58).keys()))
})

test('one changed, lost or added character is detected without a database', () => {
  const character = fc.constantFrom(...`${BASE62}-_ é\n`)
  fc.assert(
    fc.property(fc.nat(48), character, fc.boolean(), (position, replacement, isLive) => {
      const token = makeToken(newId(), isLive ? 'live' : 'test')
      const [before, after] = [token.slice(0, position), token.slice(position + 1)]
      if (token[position] !== replacement)
        expect(isTokenText(before + replacement + after)).toBe(false)
      expect(isTokenText(before + after)).toBe(false)
      expect(isTokenText(before + replacement + token[position] + after)).toBe(false)
    }),
    { numRuns: 2_000 },
  )
})

test.each(['', 'troco_test_', 'sk_test_1234', 'Bearer x', 'x'.repeat(100_000)])(
  'a text starting with %.12j… is not a token',
  text => {
    expect(isTokenText(text)).toBe(false)
  },
)
