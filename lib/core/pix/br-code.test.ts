import { generatePixPayload } from '@brazilian-utils/brazilian-utils/generate-pix-payload'
import { getPixPayloadInfo } from '@brazilian-utils/brazilian-utils/get-pix-payload-info'
import { describe, expect, test } from 'vitest'
import {
  buildDynamicCode,
  buildStaticCode,
  crc16,
  foldText,
  parseBrCode,
  readFields,
  writeField,
} from '#lib/core/pix/br-code.ts'
import fc from '#lib/testing/property.ts'

const tlv = (id: string, value: string) => id + String(value.length).padStart(2, '0') + value
const appendChecksum = (body: string) => `${body}6304${crc16(`${body}6304`)}`
const pixKey = tlv('00', 'br.gov.bcb.pix') + tlv('01', 'fulano@example.com')
const pixLocation = (location: string) => tlv('00', 'br.gov.bcb.pix') + tlv('25', location)

/** Returns a plain static code with some fields replaced, or omitted if null. */
function compose(changes: Record<string, string | null> = {}) {
  const plain = {
    '00': '01',
    '26': pixKey,
    '52': '0000',
    '53': '986',
    '58': 'BR',
    '59': 'A',
    '60': 'B',
  }
  const fields = Object.entries<string | null>({ ...plain, ...changes })
  fields.sort(([one], [other]) => Number(one) - Number(other))
  return appendChecksum(
    fields.map(([id, value]) => (value === null ? '' : tlv(id, value))).join(''),
  )
}

function read(text: string) {
  const reading = parseBrCode(text)
  if (!reading.ok) throw new Error(`refused: ${reading.error}`)
  return reading.code
}

const name = fc.string({ unit: 'grapheme', maxLength: 60 }).filter(text => foldText(text) !== '')
const amount = fc.integer({ min: 1, max: 999_999_999_999 })
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const dictKey = fc.oneof(
  fc.uuid(),
  fc.stringMatching(/^\+55119\d{8}$/),
  fc.stringMatching(/^[a-z]{1,20}@[a-z]{1,20}\.com$/),
)
const staticInput = fc.record({
  key: dictKey,
  merchantName: name,
  merchantCity: name,
  amount: optional(amount),
  txid: optional(fc.stringMatching(/^[A-Za-z0-9]{1,25}$/)),
  description: optional(
    fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/).map(text => foldText(text)),
  ),
})
const dynamicInput = fc.record({
  location: fc.stringMatching(/^[a-z]{1,12}\.example\.test\/qr\/v2\/[0-9a-f]{32}$/),
  merchantName: name,
  merchantCity: name,
  amount: optional(amount),
})

const fulano = { merchantName: 'Fulano de Tal', merchantCity: 'BRASILIA' }
const evp = { ...fulano, key: '123e4567-e12b-12d1-a456-426655440000' }

describe('reading tolerates', () => {
  test('any order of the fields between the first and the last', () => {
    const additional = tlv('62', tlv('05', 'A'))
    const merchant = [tlv('59', 'A'), tlv('60', 'B'), tlv('61', '70074900')]
    const fields = [
      tlv('26', pixKey),
      '52040000',
      '5303986',
      '54041.50',
      '5802BR',
      ...merchant,
      additional,
    ]
    const ascending = read(appendChecksum(`000201${fields.join('')}`))
    expect(ascending).toMatchObject({ amount: 150, txid: 'A', postalCode: '70074900' })
    fc.assert(
      fc.property(fc.shuffledSubarray(fields, { minLength: fields.length }), shuffled => {
        expect(read(appendChecksum(`000201${shuffled.join('')}`))).toEqual(ascending)
      }),
    )
  })

  test.each(['26', '27', '50', '51'])('other arrangements beside Pix in template %s', id => {
    const changes = { '26': tlv('00', 'br.com.outro'), '04': '1234', '40': 'not TLV', [id]: pixKey }
    expect(read(compose(changes))).toMatchObject({ kind: 'static', key: 'fulano@example.com' })
  })

  test.each([
    ['98', 9800],
    ['98.', 9800],
    ['98.7', 9870],
    ['0.01', 1],
    ['0.00', null],
    ['4.35', 435],
    ['9999999999.99', 999_999_999_999],
    ['9999999999999', 999_999_999_999_900],
  ])('the amount %s as %s cents', (text, cents) => {
    expect(read(compose({ '54': text })).amount).toBe(cents)
  })
})

describe('reading refuses', () => {
  const twoTargets = pixKey + tlv('25', 'pix.example.com/1')
  test.each([
    ['a letter with an accent', appendChecksum('000201É'), 'characters'],
    ['nothing', '', 'checksum'],
    ['a line break behind it', `${compose()}\n`, 'characters'],
    ['one more character behind it', `${compose()}0`, 'checksum'],
    ['bytes behind the last field', appendChecksum(compose()), 'structure'],
    [
      'a checksum that belongs to another field',
      appendChecksum(`${compose().slice(0, -8)}6408`),
      'structure',
    ],
    ['a length beyond the end', appendChecksum(`${compose().slice(0, -8)}6299A`), 'structure'],
    ['a length that is no number', appendChecksum(`${compose().slice(0, -8)}61+1A`), 'structure'],
    ['an empty field', compose({ '61': '' }), 'structure'],
    ['a field twice', appendChecksum(compose().slice(0, -8) + tlv('60', 'B')), 'structure'],
    [
      'a field twice inside the additional data',
      compose({ '62': tlv('05', 'A') + tlv('05', 'B') }),
      'structure',
    ],
    ['a key twice', compose({ '26': pixKey + tlv('01', 'other') }), 'structure'],
    ['another format', compose({ '00': '02' }), 'structure'],
    [
      'another field first',
      appendChecksum(`5802BR000201${compose({ '58': null }).slice(6, -8)}`),
      'structure',
    ],
    ['an unknown initiation', compose({ '01': '13' }), 'structure'],
    [
      'two recurrences',
      compose({ '80': pixLocation('a.b/1'), '81': pixLocation('a.b/2') }),
      'structure',
    ],
    ['no category', compose({ '52': null }), 'missing'],
    ['no currency', compose({ '53': null }), 'missing'],
    ['no country', compose({ '58': null }), 'missing'],
    ['no name', compose({ '59': null }), 'missing'],
    ['no city', compose({ '60': null }), 'missing'],
    ['dollars', compose({ '53': '840' }), 'currency'],
    ['another country', compose({ '58': 'US' }), 'country'],
    ['no Pix', compose({ '26': tlv('00', 'br.com.outro') + tlv('01', 'key') }), 'arrangement'],
    ['Pix outside 26–51', compose({ '26': null, '52': pixKey }), 'arrangement'],
    ['Pix twice', compose({ '27': pixKey }), 'arrangement'],
    ['key and location', compose({ '26': twoTargets }), 'target'],
    ['neither key nor location', compose({ '26': tlv('00', 'br.gov.bcb.pix') }), 'target'],
    ['an amount with a comma', compose({ '54': '1,50' }), 'amount'],
    ['tenths of a cent', compose({ '54': '1.505' }), 'amount'],
    ['a negative amount', compose({ '54': '-1.50' }), 'amount'],
    ['an amount of 14 characters', compose({ '54': '99999999999.99' }), 'amount'],
    [
      'a location with a port',
      compose({ '26': pixLocation('pix.example.com:8443/1') }),
      'location',
    ],
    [
      'a location with a user',
      compose({ '26': pixLocation('user@pix.example.com/1') }),
      'location',
    ],
    ['a location without a dot', compose({ '26': pixLocation('localhost/1') }), 'location'],
    ['a recurrence with a scheme', compose({ '80': pixLocation('https://a.b/1') }), 'location'],
  ])('%s', (_, code, error) => {
    expect(parseBrCode(code)).toEqual({ ok: false, error })
  })
})

describe('building', () => {
  test('a static code is read back with the same values, here and by @brazilian-utils', () => {
    fc.assert(
      fc.property(staticInput, input => {
        const code = buildStaticCode(input)
        const { key, amount = null, txid = null, description = null } = input
        expect(read(code)).toMatchObject({
          kind: 'static',
          key,
          amount,
          txid,
          description,
          use: null,
        })
        expect(read(code).merchantName).toBe(foldText(input.merchantName, 25))
        const reais = input.amount === undefined ? undefined : input.amount / 100
        expect(generatePixPayload({ ...input, amount: reais })).toBe(code)
        expect(getPixPayloadInfo(code)).toMatchObject({
          key,
          merchantCity: foldText(input.merchantCity, 15),
        })
      }),
    )
  })

  test('a dynamic code is read back with the same values, the amount included', () => {
    fc.assert(
      fc.property(dynamicInput, ({ amount, ...input }) => {
        const code = buildDynamicCode({ ...input, amount })
        const { location } = input
        expect(read(code)).toMatchObject({
          kind: 'dynamic',
          location,
          amount: amount ?? null,
          use: 'once',
          txid: null,
        })
        expect(getPixPayloadInfo(code)).toMatchObject({
          url: location,
          pointOfInitiation: 'dynamic',
        })
        expect(buildDynamicCode(input)).toBe(generatePixPayload({ ...input, url: location }))
      }),
    )
  })

  test.each([
    ['no key', { ...evp, key: '' }, /key/],
    ['a key of 78 characters', { ...evp, key: 'k'.repeat(78) }, /key/],
    ['a key with an accent', { ...evp, key: 'josé@example.com' }, /key/],
    ['a key with a space', { ...evp, key: '+55 11987654321' }, /key/],
    ['a txid of 26', { ...evp, txid: 'A'.repeat(26) }, /txid/],
    ['an empty txid', { ...evp, txid: '' }, /txid/],
    ['a txid with a hyphen', { ...evp, txid: 'RP-1' }, /txid/],
    [
      'a description of 38 beside a random key',
      { ...evp, description: 'd'.repeat(38) },
      /description is longer than the 37/,
    ],
    [
      'any description beside a key of 77',
      { ...evp, key: 'k'.repeat(77), description: 'd' },
      /longer than the 0/,
    ],
    ['a description that folds to nothing', { ...evp, description: '日本' }, /description/],
    ['an amount of zero', { ...evp, amount: 0 }, /amount/],
    ['a negative amount', { ...evp, amount: -1 }, /amount/],
    ['half a cent', { ...evp, amount: 100.5 }, /amount/],
    ['no number', { ...evp, amount: Number.NaN }, /amount/],
    ['one cent too many', { ...evp, amount: 1_000_000_000_000 }, /amount/],
    ['a name that folds to nothing', { ...evp, merchantName: '日本商店' }, /merchantName/],
    ['a city that folds to nothing', { ...evp, merchantCity: ' ' }, /merchantCity/],
  ])('a static code with %s is refused with an error that names the field', (_, input, message) => {
    expect(() => buildStaticCode(input)).toThrow(RangeError)
    expect(() => buildStaticCode(input)).toThrow(message)
  })

  test.each([
    'https://pix.example.com/1',
    '//pix.example.com/1',
    'pix.example.com:443/1',
    'user@pix.example.com/1',
    'localhost/1',
    'pix.example.com',
    'pix.example.com/a b',
    'pix..example.com/1',
    `pix.example.com/${'1'.repeat(62)}`,
    '',
  ])('the location "%s" is refused', location => {
    expect(() => buildDynamicCode({ ...fulano, location })).toThrow(/location/)
  })

  test('a name is cut at 25 characters and a city at 15', () => {
    const code = buildStaticCode({
      ...evp,
      merchantName: 'Ã'.repeat(60),
      merchantCity: 'ç'.repeat(60),
    })
    expect(read(code)).toMatchObject({ merchantName: 'A'.repeat(25), merchantCity: 'c'.repeat(15) })
  })

  test('accepts the longest key and location (77), description (37) and the largest amount', () => {
    const longest = {
      ...fulano,
      location: `pix.example.com/${'1'.repeat(61)}`,
      amount: 999_999_999_999,
    }
    expect(read(buildDynamicCode(longest))).toMatchObject({
      location: longest.location,
      amount: longest.amount,
    })
    expect(read(buildStaticCode({ ...fulano, key: 'k'.repeat(77) }))).toMatchObject({
      key: 'k'.repeat(77),
    })
    const described = { ...evp, description: 'd'.repeat(37) }
    expect(read(buildStaticCode(described)).description).toBe(described.description)
  })
})

describe('the checksum', () => {
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
  // The checksum is case-insensitive: a changed case of its letters is not a change.
  const isSameLetter = (text: string, index: number, replacement: string) =>
    index >= text.length - 4 && replacement.toUpperCase() === text[index]?.toUpperCase()

  test('detects any changed character of a code, except the case of letters in the checksum', () => {
    const code = buildStaticCode(evp)
    const undetected: string[] = []
    for (let index = 0; index < code.length; index++)
      for (const replacement of printable) {
        const reading = parseBrCode(code.slice(0, index) + replacement + code.slice(index + 1))
        if (reading.ok && replacement !== code[index]) undetected.push(`${index}${replacement}`)
        if (!reading.ok) expect(reading.error).toBe('checksum')
      }
    const letters = [...code.toLowerCase()]
      .map((character, index) => `${index}${character}`)
      .slice(-4)
    expect(undetected).toEqual(letters.filter(entry => /[a-f]$/.test(entry)))
    expect(undetected).not.toEqual([])
  })

  test('detects a changed character in any code that Troco builds', () => {
    const code = fc.oneof(staticInput.map(buildStaticCode), dynamicInput.map(buildDynamicCode))
    fc.assert(
      fc.property(code, fc.nat(), fc.constantFrom(...printable), (text, position, replacement) => {
        const index = position % text.length
        fc.pre(!isSameLetter(text, index, replacement) && replacement !== text[index])
        const reading = parseBrCode(text.slice(0, index) + replacement + text.slice(index + 1))
        expect(reading).toEqual({ ok: false, error: 'checksum' })
      }),
      { numRuns: 1000 },
    )
  })
})

describe('reading never throws', () => {
  const noise = fc.string({ unit: 'binary', maxLength: 300 })
  const id = fc.constantFrom('01', '26', '27', '53', '54', '62', '80')
  const value = fc.oneof(
    fc.stringMatching(/^[ -~]{1,40}$/),
    fc.constantFrom(pixKey, pixLocation('a.b/1')),
  )
  const sealedNoise = fc.dictionary(id, value).map(compose)

  test('for any text, with or without a correct checksum', () => {
    fc.assert(
      fc.property(fc.oneof(noise, noise.map(appendChecksum), sealedNoise), text => {
        expect([true, false]).toContain(parseBrCode(text).ok)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('folding text to ASCII', () => {
  test.each([
    ['José da Conceição', 25, 'Jose da Conceicao'],
    ['ÀÉÎÕÜ çñ', 25, 'AEIOU cn'],
    ['Pão\u00a0de\t Queijo\n', 25, 'Pao de Queijo'],
    ['a 日本 b', 25, 'a b'],
    ['🍞 Padaria', 25, 'Padaria'],
    ['Sao Miguel do Oeste', 15, 'Sao Miguel do O'],
    ['Fourteen chars x', 15, 'Fourteen chars'],
    ['日本', 25, ''],
  ])('%j cut at %i is %j', (text, max, folded) => {
    expect(foldText(text, max)).toBe(folded)
  })

  test('any text becomes printable ASCII within the length, and folding it again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(15, 25), (text, max) => {
        const folded = foldText(text, max)
        expect(folded).toMatch(/^(?:[!-~]+(?: [!-~]+)*)?$/)
        expect(folded.length).toBeLessThanOrEqual(max)
        expect(foldText(folded, max)).toBe(folded)
      }),
    )
  })
})

test('the checksum is CRC-16/CCITT-FALSE in four hexadecimal digits', () => {
  expect(crc16('123456789')).toBe('29B1')
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => /^[0-9A-F]{4}$/.test(crc16(text))))
})

test('fields are read back as they were written, in order', () => {
  const ids = fc.uniqueArray(fc.stringMatching(/^\d\d$/))
  fc.assert(
    fc.property(ids, fc.infiniteStream(fc.stringMatching(/^[ -~]{1,99}$/)), (fieldIds, values) => {
      const fields = fieldIds.map(id => [id, String(values.next().value)] as const)
      const text = fields.map(([id, value]) => writeField(id, value)).join('')
      expect([...(readFields(text) ?? [])]).toEqual(fields)
      expect(readFields(`${text}0`)).toBeNull()
    }),
  )
})
