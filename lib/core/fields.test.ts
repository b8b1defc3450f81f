import { expect, test } from 'vitest'
import * as z from 'zod'
import { httpUrl, normalizeEmail, pickFields } from '#lib/core/fields.ts'

test.each([
  ['https://user:secret@shop.example/hook?a=b@c', 'https://***@shop.example/hook?a=b@c'],
  ['HTTP://secret@shop.example', 'HTTP://***@shop.example'],
  ['https://user:se@cret@shop.example:8443', 'https://***@shop.example:8443'],
  ['https:////user:secret@shop.example', 'https:////***@shop.example'],
  ['https://\\\\user:secret@shop.example', 'https://\\\\***@shop.example'],
  ['https://@shop.example', 'https://@shop.example'],
  ['https://:@shop.example', 'https://:@shop.example'],
  ['https://shop.example/@secret', 'https://shop.example/@secret'],
  ['https://shop.example\\user:x@secret', 'https://shop.example\\user:x@secret'],
  ['https://shop.example?to=user:x@secret', 'https://shop.example?to=user:x@secret'],
])('the URL %s is stored as %s, with the same host', (sent, stored) => {
  expect(httpUrl.parse(sent)).toBe(stored)
  const [before, after] = [sent, stored].map(text => URL.parse(text) ?? expect.unreachable())
  expect(after?.href).toBe(before?.href.replace(/\/\/[^/@]+@/, '//***@'))
})

test('only the fields of the shape are copied, in its order', () => {
  const shape = { id: z.string(), amount: z.int(), note: z.string().nullable() }
  const row = { secret: 'hidden', note: null, amount: 500, id: 'a' }
  expect(JSON.stringify(pickFields(shape, row))).toBe('{"id":"a","amount":500,"note":null}')
})

test.each([
  ['ana@example.com', 'ana@example.com'],
  ['  Ana.Rocha+x@EXAMPLE.com ', 'ana.rocha+x@example.com'],
  ['\t\r\nana@example.com\v\f', 'ana@example.com'],
  ['demo@troco.local', 'demo@troco.local'],
])('%j is normalized to %j', (text, email) => {
  expect(normalizeEmail(text)).toBe(email)
})

test.each([
  '',
  'ana',
  '@example.com',
  'ana@',
  'ana@-example.com',
  'ana@example.com-',
  'a na@example.com',
  'ana@exam ple.com',
  'аna@example.com',
  'ａｎａ@example.com',
  'aﬁ@example.com',
  // The Kelvin sign and the capital I with a dot, which toLowerCase turns into ASCII letters.
  '\u212Aim@example.com',
  '\u0130pek@example.com',
  'ana@example.com\u00A0',
  '\uFEFFana@example.com',
  `${' '.repeat(1_024)}ana@example.com`,
  'ana@example.com\u0000',
  'ana@example.com,rui@example.com',
  `${'a'.repeat(250)}@b.co`,
])('%j is not an e-mail address', text => {
  expect(normalizeEmail(text)).toBeNull()
})
