import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { isTokenText, makeToken } from '#lib/rooms/tokens/token-text.ts'
import fc from '#lib/testing/property.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test.each(['test', 'live'] as const)('a %s token contains its mode and its checksum', mode => {
  const token = makeToken(mode)
  expect(token).toMatch(new RegExp(`^troco_${mode}_[0-9A-Za-z]{38}$`))
  const checksum = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0)
  expect(checksum).toBe(crc32(token.slice(0, -6)))
  expect(isTokenText(token)).toBe(true)
})

test('10,000 tokens are all different and use every character', () => {
  const tokens = Array.from({ length: 10_000 }, () => makeToken('test'))
  expect(new Set(tokens).size).toBe(10_000)
  expect(new Set(tokens.map(token => token.slice(11, 43)).join(''))).toEqual(new Set(BASE62))
})

test('one changed, lost or added character is detected without a database', () => {
  const character = fc.constantFrom(...`${BASE62}-_ é\n`)
  fc.assert(
    fc.property(fc.nat(48), character, fc.boolean(), (position, replacement, isLive) => {
      const token = makeToken(isLive ? 'live' : 'test')
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
