import { describe, expect, test } from 'vitest'
import fc from '#lib/testing/property.ts'
import { crc16, foldText, readFields, writeField } from './emv.ts'

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
