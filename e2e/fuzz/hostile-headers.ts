import type { HeaderLines } from '#e2e/fuzz/world.ts'
import type { Random } from '#lib/testing/random.ts'

const toLatin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
const headerLines = (name: string, ...values: string[]): HeaderLines[] =>
  values.map(value => [[name, value]])

/** Headers added to a request; if the request already has the header, it is sent twice. */
export const EXTRA_HEADERS: readonly HeaderLines[] = [
  ...headerLines('Idempotency-Key', '', ' ', 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(10_000)),
  ...headerLines(
    'Idempotency-Key',
    toLatin1('ç'),
    toLatin1('🦊'),
    '"quoted"',
    'a,b',
    '\x01',
    '__proto__',
    '%00',
  ),
  [...headerLines('Idempotency-Key', 'one'), ...headerLines('Idempotency-Key', 'two')].flat(),
  ...headerLines(
    'Authorization',
    '',
    'Bearer',
    'Basic YTpi',
    'bearer x',
    'Bearer a b',
    toLatin1('Bearer ç'),
  ),
  ...headerLines(
    'Authorization',
    `Bearer ${'x'.repeat(10_000)}`,
    'Bearer troco_test_x, Bearer y',
    '\t',
  ),
  ...headerLines('Troco-Mode', 'test', 'live', 'TEST', '__proto__'),
  ...headerLines('Troco-Account', '0190e5c8-7b9a-7c3e-8d1f-123456789abc', 'x', ''),
  ...headerLines(
    'Cookie',
    'troco-session=x',
    'troco-session=',
    ';;;=',
    `troco-session=${'A'.repeat(43)}`,
  ),
  ...headerLines(
    'Cookie',
    'x'.repeat(15_000),
    ...['troco-session=A; ', 'a=b; ', ';', '=', 'a;'].map(piece =>
      piece.repeat(20_000 / piece.length),
    ),
    Array.from({ length: 1_000 }, (_, index) => `troco-session.${index}=A`).join('; '),
    '__proto__=1; constructor=2',
    toLatin1('troco-session=ç'),
  ),
  ...headerLines(
    'Origin',
    'null',
    'https://evil.example',
    'http://localhost:3000.evil.example',
    '',
  ),
  ...headerLines(
    'X-Forwarded-For',
    '6.6.6.6',
    '6.6.6.6, 7.7.7.7,,',
    'x, '.repeat(2_000),
    '::1',
    toLatin1('ç'),
  ),
  ...headerLines('X-Forwarded-Proto', 'https', 'javascript'),
  ...headerLines('X-Forwarded-Host', 'evil.example'),
  ...headerLines('Forwarded', 'for=6.6.6.6'),
  ...headerLines('X-Troco-Address', '6.6.6.6'),
  ...headerLines(
    'X-Middleware-Subrequest',
    'middleware:middleware:middleware:middleware:middleware',
  ),
  ...headerLines('RSC', '1'),
  ...headerLines('Next-Action', 'x'),
  ...headerLines('Next-Router-Segment-Prefetch', '/_tree'),
  ...headerLines('X-HTTP-Method-Override', 'DELETE', 'PUT', 'GET', 'POST'),
  ...headerLines('X-Method-Override', 'GET'),
  ...headerLines('X-Request-Id', '', 'x'.repeat(65), toLatin1('ç'), 'a b', '__proto__'),
  ...headerLines('Accept', 'text/html', 'application/xml;q=1, */*;q=0', ''),
  ...headerLines('Accept-Encoding', 'gzip, br', '*;q=0'),
  ...headerLines('Accept-Charset', 'utf-16'),
  ...headerLines('Range', 'bytes=0-1', 'bytes=-1'),
  ...headerLines('If-None-Match', '*'),
  ...headerLines('If-Match', '"x"'),
  ...headerLines('If-Modified-Since', 'Mon, 01 Jan 2035 00:00:00 GMT'),
  ...headerLines('Connection', 'close', 'Upgrade', 'keep-alive, Authorization', 'Content-Type'),
  [...headerLines('Connection', 'Upgrade'), ...headerLines('Upgrade', 'websocket')].flat(),
  [
    ...headerLines('Connection', 'Upgrade, HTTP2-Settings'),
    ...headerLines('Upgrade', 'h2c'),
  ].flat(),
  ...headerLines('Keep-Alive', 'timeout=0, max=0'),
  ...headerLines('TE', 'trailers'),
  ...headerLines('Trailer', 'Authorization'),
  ...headerLines('Expect', '100-continue', '100-Continue', 'a-banana', ''),
  ...headerLines('__proto__', '1'),
  ...headerLines('constructor', '1'),
  ...headerLines(
    'X-Long',
    'x'.repeat(8_000),
    'x'.repeat(20_000),
    'x'.repeat(40_000),
    'x'.repeat(100_000),
  ),
  Array.from({ length: 200 }, (_, index): [string, string] => [`X-Many-${index}`, 'x']),
  Array.from({ length: 2_500 }, (): [string, string] => ['X', '1']),
  ...headerLines('X-Control', 'a\x00b', 'a\x7fb', 'a\rb', 'a\nb', 'a\x0bb'),
  ...headerLines('X Space', '1'),
  ...headerLines('X(Paren)', '1'),
  ...headerLines('', '1'),
  ...headerLines('Content-Length ', '1'),
  [['X-Folded', 'a\r\n b']],
]

const CONTENT_TYPES: readonly string[] = [
  ...[
    '',
    'text/plain',
    'text/html',
    'application/x-www-form-urlencoded',
    'application/xml',
    'json',
  ],
  'multipart/form-data; boundary=x',
  'application/jsonp',
  'application/json5',
  '*/*',
  'a/json',
  'application/json; charset=utf-16',
  'application/json; charset=iso-8859-1',
  'text/json;;',
  ...[
    'application/json, text/plain',
    'application/vnd.api+json',
    'APPLICATION/JSON',
    toLatin1('ç/json'),
  ],
  'application/json; charset="',
  ` ${'a'.repeat(5_000)}/json`,
  'application/json\x00',
]

const ENCODINGS: readonly string[] = [
  'gzip',
  'br',
  'identity',
  'IDENTITY',
  'identity, gzip',
  '',
  'x',
]

export function mutateHeaders(headers: HeaderLines, random: Random): HeaderLines {
  const mutation = random.between(0, 9)
  if (mutation === 0) return withHeader(headers, 'Content-Type', random.pick(CONTENT_TYPES))
  if (mutation === 1) return withHeader(headers, 'Content-Encoding', random.pick(ENCODINGS))
  if (mutation === 2) return headers.filter(() => random.chance(0.5))
  if (mutation === 3) return [...headers, random.pick(headers)]
  return random.chance(0.2)
    ? [...random.pick(EXTRA_HEADERS), ...headers]
    : [...headers, ...random.pick(EXTRA_HEADERS)]
}

export function withHeader(headers: HeaderLines, name: string, value: string): HeaderLines {
  const rest = headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase())
  return [...rest, [name, value]]
}
