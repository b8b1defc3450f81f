import { describe, expect, test } from 'vitest'
import {
  buildPdf,
  pdfRectangles,
  pdfText,
  pdfWidth,
  toPdfText,
  wrapPdfText,
} from '#lib/core/pdf.ts'
import fc from '#lib/testing/property.ts'

const STYLE = { size: 10, color: [0, 0, 0] } as const

test('text keeps what Windows-1252 has, and loses no letter that has a base letter', () => {
  const portuguese = 'Ação, São João, maçã, pinguim, R$ 1.234,56, nº 5, “à vista” – 10€…'
  expect(toPdfText(portuguese)).toBe(portuguese)
  expect(toPdfText('Łódź Čapek Ștefan ﬁ')).toBe('?ódz Capek Stefan fi')
  expect(toPdfText('e\u0301 a\u00a0b\u2009c\td\u200be')).toBe('é a\u00a0b c de')
  expect(toPdfText('日本 😀')).toBe('?? ?')
})

test('a file is ASCII, whatever the text, and its table points at its objects', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      const drawings = [pdfText(50, 50, text, STYLE), pdfRectangles([[1, 2, 3, 4]], [9, 9, 9])]
      const link = { area: [0, 0, 10, 10], url: 'https://shop.example/a' } as const
      const file = buildPdf({ title: text, language: 'pt-BR', drawings, link })
      expect(file).toMatch(/^[\n -~]*$/)
      const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(file)?.[1])
      expect(file.slice(table, table + 5)).toBe('xref\n')
      const offsets = [...file.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, offset]) =>
        Number(offset),
      )
      expect(offsets.length).toBeGreaterThan(6)
      for (const [index, offset] of offsets.entries()) {
        expect(file.slice(offset).startsWith(`${index + 1} 0 obj\n`)).toBe(true)
      }
      const [, length, content = ''] =
        /<< \/Length (\d+) >>\nstream\n(.*)\nendstream/s.exec(file) ?? []
      expect(content).toHaveLength(Number(length))
    }),
  )
})

test('text cannot end its string and draw something else', () => {
  expect(pdfText(0, 0, 'a) Tj (b\\', STYLE)).toContain('(a\\051 Tj \\050b\\134) Tj ET')
})

describe('lines', () => {
  test('are never wider than the width, and together contain the text', () => {
    const words = fc.array(fc.string({ unit: 'binary-ascii', maxLength: 60 }), { maxLength: 12 })
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 400 }), (parts, width) => {
        const text = parts.join(' ')
        const lines = wrapPdfText(text, width, STYLE)
        for (const line of lines) expect(pdfWidth(line, 10)).toBeLessThanOrEqual(width)
        const bare = (value: string) => toPdfText(value).replace(/ /g, '')
        expect(bare(lines.join(''))).toBe(bare(text))
      }),
    )
  })

  test('break between words, and within a word that is too long', () => {
    expect(wrapPdfText('Padaria da Praça Ltda', 70, STYLE)).toEqual(['Padaria da', 'Praça Ltda'])
    expect(wrapPdfText('W'.repeat(12), 50, STYLE)).toEqual(['WWWWW', 'WWWWW', 'WW'])
  })

  test('beyond the limit are cut, visibly', () => {
    expect(wrapPdfText('um dois três quatro', 30, STYLE, 2)).toEqual(['um', 'do…'])
  })

  test('of a monospaced font count every character the same', () => {
    expect(pdfWidth('iW', 10, 'mono')).toBe(12)
    expect(pdfWidth('', 10)).toBe(0)
  })
})
