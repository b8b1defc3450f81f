import { describe, expect, test } from 'vitest'
import { isRawNumber, parseExactJson } from '#lib/core/exact-json.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const write = (text: string) => JSON.stringify(parseExactJson(text))

describe('numbers of free fields are written as they were sent', () => {
  test.each([
    ...[
      '-0',
      '1.0',
      '1.10',
      '10.0',
      '0.0',
      '-0.0',
      '-0.5',
      '1e5',
      '1E+5',
      '1e-7',
      '1e400',
      '5e-324',
    ],
    '0.0000001',
    '0.000001',
    '0.10000000000000001',
    '9007199254740993',
    '-9007199254740993',
    '10000000000000000',
    '1e16',
    '2e16',
    '999999999999999',
    '9'.repeat(400),
    '0',
    '-1',
    '12.5',
  ])('%s', number => {
    const text = `{"metadata":{"a":[${number},"${number}",{"2":${number},"1":${number}}],"b":${number}}}`
    expect(write(text)).toBe(text.replace(/"2":(.*?),"1":(.*?)}/, '"1":$2,"2":$1}'))
  })

  test('and the last of two with the same key', () => {
    expect(write('{"items":[{"a":1.0,"b":2.0,"a":3.0,"__proto__":4.0}]}')).toBe(
      '{"items":[{"a":3.0,"b":2.0,"__proto__":4.0}]}',
    )
  })

  test('but not in strings, keys and other fields', () => {
    const text = String.raw`{"metadata":{"1.0\\":" 1.0, \" -0, \\\" 1e16","a":"[1.0\\"},"n":[1.50,-7.0]}`
    expect(write(text)).toBe(text.replace('[1.50,-7.0]', '[1.5,-7]'))
  })
})

test.each(['1.0', ' -0 ', '[1.0]', '{"metadata":1.0}'])(
  '%s has no number of a free field',
  text => {
    expect(parseExactJson(text)).toEqual(JSON.parse(text))
    expect(parseExactJson(text, source => source)).toEqual(
      JSON.parse(text.replace(/-?\d\S*?(?=[\s\]}]|$)/, '"$&"')),
    )
  },
)

test.each([
  '01.0',
  '1.',
  '.5',
  '1.0.0',
  '--0',
  '+1.0',
  '-',
  '1e',
  '1e+',
  '1.0e',
  '00',
  '-01.5',
  '1-0',
  'true1.0',
  '1.0true',
  '"a"1.0',
  '1.0 1.0',
  '"1.0',
  '"\\',
  '"1.0\\"',
  '',
  'x1.0',
])('%s is no JSON', text => {
  for (const whole of [text, `[${text}`, `{"metadata":[${text}]}`])
    if (whole !== '{"metadata":[]}') expect(() => parseExactJson(whole)).toThrow(SyntaxError)
})

test('any depth is parsed', () => {
  const depth = 200_000
  const parsed = parseExactJson(`{"metadata":${'['.repeat(depth)}1.0${']'.repeat(depth)}}`)
  let inner = (parsed as { metadata: unknown }).metadata
  while (Array.isArray(inner)) inner = inner[0]
  expect(isRawNumber(inner)).toBe(true)
})

testInTorture.each<[string, (index: number) => string]>([
  ['minus zero', () => '-0'],
  ['fractions with a zero', () => '1.0'],
  ['exact fractions', () => '0.5'],
  ['different integers', index => String(10n ** 16n + BigInt(index))],
])('1 MiB of %s costs little', (_title, numberAt) => {
  const numbers: string[] = []
  for (let bytes = 0; bytes < 2 ** 20; bytes += (numbers.at(-1)?.length ?? 0) + 1)
    numbers.push(numberAt(numbers.length))
  const text = `{"metadata":{"a":[${numbers}]}}`
  const ratio = measureCpu(() => parseExactJson(text)) / measureCpu(() => JSON.parse(text))
  expect(ratio).toBeLessThan(COST_RATIO_MAX)
})

/** A reviver of JSON.parse costs 20 to 45 times as much as JSON.parse alone. */
const COST_RATIO_MAX = 18

/** Returns the least CPU time of several runs, in microseconds. */
function measureCpu(run: () => unknown): number {
  const costs = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  return Math.min(...costs)
}
