import type { Random } from '#lib/testing/random.ts'

export type TextSource = string | ((random: Random) => string)

export function generateText(text: TextSource, random: Random): string {
  return typeof text === 'string' ? text : text(random)
}

export function splitWords(text: string): string[] {
  return text.trim().split(/\s+/)
}

const nestDeeply = (open: string, close: string) => (random: Random) => {
  const depth = random.pick([31, 33, 1_000, 25_000, 100_000])
  return open.repeat(depth) + close.repeat(depth)
}

const randomLength = (random: Random) =>
  random.pick([30, 31, 77, 78, 255, 256, 2_048, 2_049, 20_000])

/** Repeats a text up to a length that fits into the headers or, with a larger one, into a body. */
export function flood(piece: string, bytesMax: number): TextSource {
  return random =>
    piece.repeat(Math.ceil(random.pick([60, bytesMax / 10, bytesMax]) / piece.length))
}

/** Texts that look like JSON but are invalid. */
const NOT_JSON: readonly TextSource[] = [
  ...splitWords('NaN Infinity -Infinity undefined 01500 +1500 .5 5. 0x10 1_000 // /**/1 1n'),
  ...splitWords(String.raw`'x' "\x41" "\u12" "unterminated {"a" [1,] {,}`),
  '`x`',
  '"\t"',
  '"line\nbreak"',
]

const JSON_VALUES: readonly TextSource[] = [
  ...splitWords(
    'null true false "" [] {} [[]] [null] {"a":{}} 0 -0 -1 1E3 1500.0 1500.5 499 500 59',
  ),
  ...splitWords(
    '1e400 -1e400 1e-400 1e308 2147483648 9007199254740991 9007199254740993 999999999999',
  ),
  ...splitWords('1000000000000 9223372036854775808 -9223372036854775809 123456789012345678901234'),
  ...splitWords(
    '2592001 "1500" "1e3" "0x5dc" "-0" "NaN" "Infinity" "١٥٠٠" "1,5" "%00" "%s%n" "🦊"',
  ),
  ...splitWords(String.raw`"\u0000" "a\u0000b" "\ud800" "\udc00\ud800" "\ud83e\udd8a" "\ufeff"`),
  ...splitWords(
    String.raw`"\uffff" "\u202e" "\u2028" "\u00a0" "e\u0301" "\b\f\u001b" {"\u0000":1}`,
  ),
  ...splitWords(
    String.raw`{"\ud800":1} "\r\nSet-Cookie:a=b" [1e400] {"a":1,"a":2} {"":""} {"$ne":1}`,
  ),
  ...splitWords(
    '{"__proto__":{"amount":1}} {"constructor":{"prototype":{"x":1}}} [{"__proto__":[]}]',
  ),
  ...splitWords('{"then":1} {"toJSON":1} {"toString":null,"valueOf":1} {"length":1} "__proto__"'),
  ...splitWords('"../../etc/passwd" "<script>alert(1)</script>" "constructor"'),
  '" "',
  '" 1500 "',
  `"'; DROP TABLE charges;--"`,
  ...['1', 'null', '""', '{}', '"x"', '"transaction.paid"'].map(
    (element): TextSource =>
      random =>
        `[${generateText(flood(`${element},`, 60_000), random)}${element}]`,
  ),
  random => `{${Array.from({ length: random.pick([60, 6_000]) }, (_, nth) => `"k${nth}":1`)}}`,
  random => JSON.stringify('x'.repeat(randomLength(random))),
  random => JSON.stringify('🦊'.repeat(randomLength(random) / 2)),
  random => JSON.stringify('ç'.repeat(randomLength(random))),
  random => JSON.stringify(randomText(random)),
  random => JSON.stringify(randomText(random)),
  random => `${random.between(-9, 9)}.${random.between(0, 999)}e${random.between(-20, 20)}`,
  random => String(random.between(1, 2 ** random.between(1, 52))),
  random => JSON.stringify(Array(random.pick([50, 51, 5_000])).fill({})),
  random => JSON.stringify(Array(random.pick([50, 51])).fill({ name: 'x', price: 1, quantity: 1 })),
  random =>
    `{${Array.from({ length: random.pick([20, 21, 2_000]) }, (_, index) => `"${index}":${index}`)}}`,
  nestDeeply('[', ']'),
  nestDeeply('{"a":', '}'),
]

export function randomValue(random: Random): string {
  return generateText(random.pick(random.chance(0.85) ? JSON_VALUES : NOT_JSON), random)
}

/** Returns random code points, including lone surrogates. */
export function randomText(random: Random): string {
  const codePointMax = random.pick([0x7f, 0x7ff, 0xffff, 0x10ffff])
  return Array.from({ length: random.between(1, 40) }, () =>
    String.fromCodePoint(random.between(0, codePointMax)),
  ).join('')
}

/** Field names that are in no schema. */
export const HOSTILE_KEYS: readonly string[] = [
  ...splitWords(
    '"__proto__" "constructor" "toString" "hasOwnProperty" "" "AMOUNT" "0" "-1" "mode"',
  ),
  ...splitWords(String.raw`"\u0000" "\ud800" "am\u006funt" "account_id" "status" "id" "🦊"`),
  ...splitWords(`amount 'amount' 1`),
  '"amount "',
  `"${'k'.repeat(10_000)}"`,
]
