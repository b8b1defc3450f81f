import { expect, test } from 'vitest'
import { normalizeEmail } from '#lib/core/email.ts'

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
