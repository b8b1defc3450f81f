import { expect, test } from 'vitest'
import { CSV_BOM, csvLine } from '#lib/dashboard/exports.ts'
import fc from '#lib/testing/property.ts'

/** Reads one line as RFC 4180 defines it, independently of the code under test. */
function readLine(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (let index = 0; index < line.length - 2; index++) {
    const character = line.charAt(index)
    if (isQuoted && character === '"' && line[index + 1] === '"') cell += line.charAt(index++)
    else if (character === '"') isQuoted = !isQuoted
    else if (character === separator && !isQuoted) {
      cells.push(cell)
      cell = ''
    } else cell += character
  }
  return [...cells, cell]
}

test('Portuguese uses semicolons and decimal commas, English commas and decimal points', () => {
  const cells = ['Ana', 3, { amount: 123_456_05 }, null, { amount: -7 }]
  expect(csvLine(cells, 'pt-BR')).toBe('Ana;3;123456,05;;-0,07\r\n')
  expect(csvLine(cells, 'en')).toBe('Ana,3,123456.05,,-0.07\r\n')
})

test('a cell with a separator, quote or leading space is quoted', () => {
  expect(csvLine(['a;b', 'a"b', ' a'], 'pt-BR')).toBe('"a;b";"a""b";" a"\r\n')
})

test.each(['a\nb', 'a\r\nb', 'a\u2028b', 'a\u0085b', 'a\vb', 'a\tb', 'a\u0000b'])(
  'a row is one line: %j is written with a space',
  text => {
    expect(csvLine([text, 1], 'en')).toBe('a b,1\r\n')
  },
)

test.each(['=1+1', '+55', '-2', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '  =1', '＝1', '\t'])(
  '%j is written as text and never as a formula',
  text => {
    for (const locale of ['pt-BR', 'en']) {
      const [cell] = readLine(csvLine([text], locale), locale === 'pt-BR' ? ';' : ',')
      expect(cell).toBe(`'${text.replace(/[\t\r\n]/, ' ')}`)
    }
  },
)

test('any line is parsed back to the same texts', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom(...'aé ;,"\n\r\t=-+@') }), { minLength: 1 }),
      fc.constantFrom('pt-BR', 'en'),
      (cells, locale) => {
        const lines = cells.map(cell => cell.replace(/[\n\r\t]+/g, ' '))
        const readCells = readLine(csvLine(cells, locale), locale === 'pt-BR' ? ';' : ',')
        expect(
          readCells.map((cell, index) => (cell === lines[index] ? cell : cell.slice(1))),
        ).toEqual(lines)
        for (const cell of readCells) expect(cell).not.toMatch(/^[\s]*[=+\-@]/)
      },
    ),
  )
})

test('the byte order mark for Excel is one character, EF BB BF in UTF-8', () => {
  expect(Buffer.from(CSV_BOM).toString('hex')).toBe('efbbbf')
})
