import { expect, test } from 'vitest'
import fc from '#lib/testing/property.ts'
import { formatPixKey } from './format-key.ts'
import { inferPixKeyType, normalizePixKey, PIX_KEY_TYPES } from './pix-key.ts'

test.each([
  ['cpf', '52998224725', '529.982.247-25'],
  ['cnpj', '12ABC34501DE35', '12.ABC.345/01DE-35'],
  ['phone', '+5511987654321', '+55 (11) 98765-4321'],
  ['phone', '+551133334444', '+55 (11) 3333-4444'],
  ['phone', '+14155550132', '+14155550132'],
  ['email', 'ana@example.com', 'ana@example.com'],
  ['random', '0190e5c8-7b9a-7c3e-8d1f-123456789abc', '0190e5c8-7b9a-7c3e-8d1f-123456789abc'],
] as const)('a %s is shown in its usual notation: %s', (type, key, text) => {
  expect(formatPixKey(type, key)).toBe(text)
})

test('a formatted key is parsed as the same key', () => {
  const digits = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length })
  const keyText = fc.oneof(
    digits(11),
    digits(14),
    digits(11).map(text => `+55${text}`),
    fc.uuid(),
  )
  fc.assert(
    fc.property(keyText, fc.constantFrom(...PIX_KEY_TYPES), (text, type) => {
      const read = normalizePixKey(type, text, 'form')
      if (!read.ok) return
      const again = normalizePixKey(type, formatPixKey(type, read.key), 'form')
      expect(again).toEqual(read)
    }),
  )
  expect(inferPixKeyType('529.982.247-25', 'dict')).toEqual({ ok: true, type: 'cpf' })
})
