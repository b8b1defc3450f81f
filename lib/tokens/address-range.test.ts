import { expect, test } from 'vitest'
import { createRangeList, parseAddress } from '#lib/core/addresses.ts'
import fc from '#lib/testing/property.ts'
import { normalizeRange } from '#lib/tokens/schema.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7 ', '203.0.113.7'],
  ['203.0.113.7/32', '203.0.113.7'],
  ['203.0.113.0/24', '203.0.113.0/24'],
  ['203.0.113.128/25', '203.0.113.128/25'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['2001:db8::1/128', '2001:db8::1'],
  ['2001:db8::/48', '2001:db8::/48'],
  ['::/0', '::/0'],
  ['::1', '::1'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.0/120', '203.0.113.0/24'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
  ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107'],
])('%s is %s', (text, normal) => {
  expect(normalizeRange(text)).toBe(normal)
})

test.each([
  ...[
    '',
    'x',
    'localhost',
    '203.0.113',
    '203.0.113.7.1',
    '203.0.113.256',
    '203.0.113.07',
    '0x7f.0.0.1',
  ],
  '203.0.113.7/',
  '203.0.113.7/33',
  '203.0.113.0/024',
  '203.0.113.0/-1',
  '203.0.113.0/24/24',
  ...[
    '203.0.113.7/24',
    '203.0.113.1/0',
    '2001:db8::1/64',
    '2001:db8::/129',
    '::ffff:203.0.113.0/95',
  ],
  ...[
    'fe80::1%eth0',
    '[::1]',
    '1:2:3:4:5:6:7',
    '1::2::3',
    '12345::',
    '203.0.113.7:443',
    '::1 , ::2',
  ],
  '2001:db8::/48 ::1',
  '203.0.113.0-203.0.113.9',
  '203.0.113.*',
  '٢٠٣.0.113.7',
])('%j is no address or range', text => {
  expect(normalizeRange(text)).toBeNull()
})

const addressBytes = fc
  .constantFrom(4, 16)
  .chain(size => fc.tuple(fc.uint8Array({ minLength: size, maxLength: size }), fc.nat(size * 8)))

test('a range that begins at its first address is accepted, stays as it is and contains that address', () => {
  const property = fc.property(addressBytes, ([bytes, bits]) => {
    const first = bytes.map((byte, at) => byte & ~(0xff >> Math.min(Math.max(bits - at * 8, 0), 8)))
    const hex = Buffer.from(first).toString('hex')
    const text = first.length === 4 ? first.join('.') : hex.match(/.{4}/g)?.join(':')
    const normal = normalizeRange(`${text}/${bits}`) ?? expect.unreachable(`${text}/${bits}`)
    expect(normalizeRange(normal)).toBe(normal)
    const address = parseAddress(normal.split('/')[0] ?? '') ?? expect.unreachable(normal)
    expect(createRangeList([normal]).has(address)).toBe(true)
  })
  fc.assert(property)
})
