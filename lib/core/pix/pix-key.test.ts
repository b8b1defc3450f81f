import { getPixKeyInfo } from '@brazilian-utils/brazilian-utils/get-pix-key-info'
import { describe, expect, test } from 'vitest'
import {
  formatPixKey,
  inferPixKeyType,
  maskPixKey,
  normalizePixKey,
  PIX_KEY_TYPES,
} from '#lib/core/pix/pix-key.ts'
import fc from '#lib/testing/property.ts'

const UUID = '123e4567-e12b-12d1-a456-426655440000'
const AREA_CODES =
  '11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55 61 62 63 64 65 66 67 68 69 71 73 74 75 77 79 81 82 83 84 85 86 87 88 89 91 92 93 94 95 96 97 98 99'

const typedKey = fc.oneof(
  fc.stringMatching(/^(?:\+|0|00)?[0-9 ().-]{9,20}$/),
  fc.stringMatching(/^(?:\+?55)?[1-9]{2}9\d{8}$/),
  fc.stringMatching(/^[0-9A-Za-z]{12}\d{2}$/),
  fc.stringMatching(/^[A-Za-z.]{1,9}@[A-Za-z-]{1,9}(?:\.[a-z]{1,3}){0,2}$/),
  fc.uuid(),
  fc.string(),
)

describe('live mode converts a key to the form of the DICT directory', () => {
  test.each([
    ['cpf', '529.982.247-25', '52998224725'],
    ['cpf', ' 01234567890 ', '01234567890'],
    ['cnpj', '12.abc.345/01de-35', '12ABC34501DE35'],
    ['cnpj', '11.222.333/0001-81', '11222333000181'],
    ['email', ' Fulano@Example.COM ', 'fulano@example.com'],
    ['email', "a.!#$&'*+/=?^_{|}~`-@b.co", "a.!#$&'*+/=?^_{|}~`-@b.co"],
    ['phone', '(11) 98765-4321', '+5511987654321'],
    ['phone', '11.98765.4321', '+5511987654321'],
    ['phone', '+55 11 98765-4321', '+5511987654321'],
    ['phone', '5511987654321', '+5511987654321'],
    ['phone', '011987654321', '+5511987654321'],
    ['phone', '0011987654321', '+5511987654321'],
    ['phone', '005511987654321', '+5511987654321'],
    ['phone', '55987654321', '+5555987654321'],
    ['phone', '+1 202 555 0123', '+12025550123'],
    ['random', UUID.toUpperCase(), UUID],
    ['random', UUID.replaceAll('-', ''), UUID],
  ] as const)('%s %s is %s', (type, raw, key) => {
    expect(normalizePixKey(type, raw, 'dict')).toEqual({ ok: true, key })
  })

  test.each([
    ['cpf', '52998224724', 'check_digits'],
    ['cpf', '11111111111', 'check_digits'],
    ['cpf', '5299822472', 'form'],
    ['cnpj', '12ABC34501DE34', 'check_digits'],
    ['cnpj', '12ABC34501DE3A', 'form'],
    ['cnpj', '12ÁBC34501DE35', 'form'],
    ['email', 'fulano', 'form'],
    ['email', 'josé@example.com', 'form'],
    ['email', '\u212A@example.com', 'form'],
    ['email', 'a@-example.com', 'form'],
    ['email', 'a@example', 'form'],
    ['email', `${'a'.repeat(66)}@example.com`, 'too_long'],
    ['phone', '1133334444', 'form'],
    ['phone', '551133334444', 'form'],
    ['phone', '+551133334444', 'form'],
    ['phone', '20987654321', 'area_code'],
    ['phone', '+5520987654321', 'area_code'],
    ['phone', '05511987654321', 'form'],
    ['phone', '12025550123', 'form'],
    ['phone', '+0987654321', 'form'],
    ['phone', '11987654321x', 'form'],
    ['random', UUID.replace('1', 'g'), 'form'],
    ['random', UUID.slice(1), 'form'],
  ] as const)('%s %s is refused: %s', (type, raw, reason) => {
    expect(normalizePixKey(type, raw, 'dict')).toEqual({ ok: false, reason })
  })

  test('an e-mail may have 77 characters', () => {
    const email = `${'a'.repeat(65)}@example.com`
    expect(normalizePixKey('email', email, 'dict')).toEqual({ ok: true, key: email })
  })

  test('a mobile number is accepted in exactly the 67 area codes in use', () => {
    const all = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'))
    const usedCodes = all.filter(code => normalizePixKey('phone', `${code}987654321`, 'dict').ok)
    expect(usedCodes.join(' ')).toBe(AREA_CODES)
  })
})

describe('test mode checks the form only', () => {
  test.each([
    ['cpf', '123.456.789-00', '12345678900'],
    ['cnpj', '12abc34501de00', '12ABC34501DE00'],
    ['email', 'X@Y.Z', 'x@y.z'],
    ['phone', '1133334444', '+551133334444'],
    ['phone', '551133334444', '+551133334444'],
    ['phone', '20 98765-4321', '+5520987654321'],
    ['phone', '011 3333-4444', '+551133334444'],
    ['phone', '00351912345678', '+351912345678'],
    ['phone', '+123456789012345', '+123456789012345'],
    ['random', UUID.replaceAll('-', ''), UUID],
  ] as const)('%s %s is accepted as %s', (type, raw, key) => {
    expect(normalizePixKey(type, raw, 'form')).toEqual({ ok: true, key })
  })

  test.each([
    ['cpf', '1234567890'],
    ['cnpj', '1122233300018'],
    ['email', 'x@y'],
    ['email', 'x y@z.w'],
    ['email', `${'a'.repeat(66)}@example.com`],
    ['phone', '123456789'],
    ['phone', '1234567890123456'],
    ['phone', '11+987654321'],
    ['random', 'not-a-uuid'],
  ] as const)('%s %s is refused', (type, raw) => {
    expect(normalizePixKey(type, raw, 'form').ok).toBe(false)
  })

  test('a key accepted in live mode is accepted in test mode as the same key', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PIX_KEY_TYPES), typedKey, (type, raw) => {
        const live = normalizePixKey(type, raw, 'dict')
        fc.pre(live.ok)
        expect(normalizePixKey(type, raw, 'form')).toEqual(live)
      }),
    )
  })
})

test.each(['form', 'dict'] as const)(
  'a normalized key stays the same when normalized again (%s)',
  strictness => {
    fc.assert(
      fc.property(fc.constantFrom(...PIX_KEY_TYPES), typedKey, (type, raw) => {
        const first = normalizePixKey(type, raw, strictness)
        fc.pre(first.ok)
        expect(normalizePixKey(type, first.key, strictness)).toEqual(first)
        expect(first.key.length).toBeLessThanOrEqual(77)
      }),
    )
  },
)

describe('the inferred type of a key', () => {
  test.each([
    ['52998224725', 'cpf', 'cpf', 'right check digits, no mobile'],
    ['11987654321', 'phone', 'phone', 'a mobile with wrong check digits'],
    ['11912345684', 'cpf', 'ambiguous', 'a mobile whose check digits are right'],
    ['12345678900', 'cpf', 'ambiguous', 'neither'],
    ['119.123.456-84', 'cpf', 'ambiguous', 'the same with separators'],
    ['(11) 91234-5684', 'phone', 'phone', 'brackets, which no CPF has'],
    ['+5511912345684', 'phone', 'phone', 'the country'],
    ['12ABC34501DE35', 'cnpj', 'cnpj', 'letters'],
    ['05511912000112', 'cnpj', 'unknown', 'a mistyped CNPJ is never a phone'],
    ['00360305000104', 'cnpj', 'cnpj', 'leading zeros'],
    ['Fulano@Example.com', 'email', 'email', 'an at sign'],
    [UUID, 'random', 'random', 'a UUID'],
    ['1133334444', 'phone', 'unknown', 'a landline'],
    ['hello', 'unknown', 'unknown', 'nothing known'],
    ['', 'unknown', 'unknown', 'nothing'],
  ])('%s is %s in test mode and %s in live mode: %s', (raw, test, live) => {
    const infer = (strictness: 'form' | 'dict') => {
      const inference = inferPixKeyType(raw, strictness)
      return inference.ok ? inference.type : inference.reason
    }
    expect([infer('form'), infer('dict')]).toEqual([test, live])
  })

  test('accepts the key; in live mode no other type does', () => {
    fc.assert(
      fc.property(fc.constantFrom('form', 'dict'), typedKey, (strictness, raw) => {
        const inference = inferPixKeyType(raw, strictness)
        const accepted = PIX_KEY_TYPES.filter(type => normalizePixKey(type, raw, strictness).ok)
        if (inference.ok) expect(accepted).toContain(inference.type)
        else if (strictness === 'form') expect(accepted).toEqual([])
        if (strictness === 'dict') expect(inference.ok).toBe(accepted.length === 1)
      }),
      { numRuns: 500 },
    )
  })

  test('agrees with @brazilian-utils, except for foreign phones and e-mails', () => {
    fc.assert(
      fc.property(typedKey, raw => {
        const inference = inferPixKeyType(raw, 'dict')
        if (!inference.ok || inference.type === 'email') return fc.pre(false)
        const reading = normalizePixKey(inference.type, raw, 'dict')
        if (!reading.ok || /^\+(?!55)/.test(reading.key)) return fc.pre(false)
        const type = inference.type === 'random' ? 'evp' : inference.type
        expect(getPixKeyInfo(reading.key)).toEqual({ type, value: reading.key })
      }),
    )
  })
})

test.each([
  ['cpf', '12345678909', '***.456.789-**'],
  ['cnpj', '12ABC34501DE35', '**.ABC.345/****-**'],
  ['email', 'fulano@example.com', 'f***@example.com'],
  ['email', 'fulano', '***'],
  ['phone', '+5511987654321', '+55 (11) *****-4321'],
  ['phone', '+12025550123', '*****-0123'],
  ['random', UUID, '123e4567-****-****-****-************'],
] as const)('%s %s is masked as %s', (type, key, masked) => {
  expect(maskPixKey(type, key)).toBe(masked)
})

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
