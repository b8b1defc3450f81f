import { flood, randomText, splitWords, type TextSource } from '#e2e/fuzz/hostile-values.ts'

const ENCODED_FOX = '%F0%9F%A6%8A'
const encodedRandomText: TextSource = random =>
  encodeURIComponent(randomText(random).toWellFormed())

export const PATH_PARTS: readonly TextSource[] = [
  ...splitWords(
    `%00 a%00b %2F ..%2f..%2fetc . .. %2e%2e %zz % %f %ff %c0%af %ed%a0%80 %C3%A7 ç ${ENCODED_FOX}`,
  ),
  ...splitWords(
    '%20 + ;a=1 * null undefined 0 -1 1e9 %27%20OR%201=1-- {id} %0d%0aSet-Cookie:%20a=b',
  ),
  ...splitWords('__proto__ constructor hasOwnProperty [id] %5Bid%5D #part a#b ~ | ^ / %E2%80%8B'),
  ...splitWords('0190E5C8-7B9A-7C3E-8D1F-123456789ABC 0190e5c87b9a7c3e8d1f123456789abc %EF%BB%BF'),
  ...splitWords('00000000-0000-0000-0000-000000000000 0190e5c8-7b9a-7c3e-8d1f-123456789abg'),
  ...splitWords(String.raw`' " \ %5c..%5c`),
  '',
  'a b',
  encodedRandomText,
  random => 'a'.repeat(random.pick([255, 256, 10_000, 30_000])),
  random => ENCODED_FOX.repeat(random.pick([20, 800])),
  random => '/x'.repeat(random.pick([2, 1_000])),
]

export const QUERY_NAMES: readonly string[] = [
  ...splitWords('limit cursor status external_id created_from created_to q after amount limit[]'),
  ...splitWords('limit[$gt] limit%00 __proto__ constructor %00 %zz _rsc nxtPid'),
  '',
]

export const QUERY_VALUES: readonly TextSource[] = [
  ...splitWords(
    '0 -1 1 100 101 1e2 0x10 010 1.5 ٥ %20 +5 NaN 999999999999999 [] {} %27 %25 _ opening',
  ),
  ...splitWords(
    `%00 %zz % %ff %ed%a0%80 ç %C3%A7 ${ENCODED_FOX} 00000000-0000-0000-0000-000000000000 paid`,
  ),
  ...splitWords(
    '0190e5c8-7b9a-7c3e-8d1f-123456789abc now infinity epoch 2026-W01 20261121 2026-11-21',
  ),
  ...splitWords(
    '2026-02-30 2026-11-21T24:00:00Z 2026-11-21T23:59:60Z 9999-12-31 0001-01-01 10000-01-01',
  ),
  ...splitWords('1969-12-31T23:59:59Z 2026-11-21T00:00:00%2B14:00 2026-11-21T00:00:00.123456789Z'),
  ...splitWords('+275760-09-13T00:00:00Z 2026-11-21T03:00:00-23:59 2026-11-21T03:00Z'),
  '',
  encodedRandomText,
  random => 'a'.repeat(random.pick([255, 256, 8_192])),
  random => ENCODED_FOX.repeat(random.pick([10, 128, 600])),
  random => `${random.between(0, 99_999)}-0${random.between(0, 9)}-1${random.between(0, 9)}`,
  random => `2026-11-21T03:00:00${random.pick(['%2B', '-'])}${random.between(10, 24)}:59`,
]

/** Queries of up to 25 KB: many parameters, with and without names, and all separators. */
export const QUERY_FLOODS: readonly TextSource[] = [
  'a&',
  '&',
  '=&',
  'a=b&',
  'a[]=1&',
  'a[b]=&',
  'limit=1&',
  'metadata[a]=1&',
  ';',
  '%26',
  '+',
  ...['%', '?', '[', '%00&', '%F0%9F%A6%8A'],
].map(piece => flood(piece, 25_000))
