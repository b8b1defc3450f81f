import { expect, test } from 'vitest'
import { CSV_BOM, csvLine, plainAmount } from '#lib/base/csv.ts'
import fc from '#lib/testing/property.ts'

/** Reads one line as RFC 4180 says, so that the writer is not judged by itself. */
function readLine(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (let at = 0; at < line.length - 2; at++) {
    const sign = line.charAt(at)
    if (isQuoted && sign === '"' && line[at + 1] === '"') cell += line.charAt(at++)
    else if (sign === '"') isQuoted = !isQuoted
    else if (sign === separator && !isQuoted) {
      cells.push(cell)
      cell = ''
    } else cell += sign
  }
  return [...cells, cell]
}

test('Portuguese has semicolons and decimal commas, English commas and points', () => {
  const cells = ['Ana', 3, { amount: 123_456_05 }, null, { amount: -7 }]
  expect(csvLine(cells, 'pt-BR')).toBe('Ana;3;123456,05;;-0,07\r\n')
  expect(csvLine(cells, 'en')).toBe('Ana,3,123456.05,,-0.07\r\n')
})

test('what would end a cell or a line is quoted', () => {
  expect(csvLine(['a;b', 'a"b', 'a\nb', ' a'], 'pt-BR')).toBe('"a;b";"a""b";"a\nb";" a"\r\n')
})

test.each(['=1+1', '+55', '-2', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '  =1', '＝1', '\t'])(
  'a text is never a formula: %j',
  text => {
    for (const locale of ['pt-BR', 'en']) {
      const [cell] = readLine(csvLine([text], locale), locale === 'pt-BR' ? ';' : ',')
      expect(cell).toBe(`'${text}`)
    }
  },
)

test('any line reads back as the texts that went in', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom(...'aé ;,"\n\r\t=-+@') }), { minLength: 1 }),
      fc.constantFrom('pt-BR', 'en'),
      (cells, locale) => {
        const read = readLine(csvLine(cells, locale), locale === 'pt-BR' ? ';' : ',')
        expect(read.map((cell, at) => (cell === cells[at] ? cell : cell.slice(1)))).toEqual(cells)
        for (const cell of read) expect(cell).not.toMatch(/^[\s]*[=+\-@]/)
      },
    ),
  )
})

test('an amount has two decimals, exactly, up to the largest that there is', () => {
  expect([0, 5, -5, 10, 100, -123_456].map(plainAmount)).toEqual([
    '0.00',
    '0.05',
    '-0.05',
    '0.10',
    '1.00',
    '-1234.56',
  ])
  expect(plainAmount(Number.MAX_SAFE_INTEGER)).toBe('90071992547409.91')
})

test('the mark that Excel looks for is one character', () => {
  expect(Buffer.from(CSV_BOM).toString('hex')).toBe('efbbbf')
})
