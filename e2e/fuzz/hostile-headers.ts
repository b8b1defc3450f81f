import type { Random } from '#e2e/fuzz/random.ts'
import type { HeaderLines } from '#e2e/fuzz/world.ts'

const raw = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
const lines = (name: string, ...values: string[]): HeaderLines[] =>
  values.map(value => [[name, value]])

/** Added to a request; a header that it already has is then sent twice. */
export const ADDED: readonly HeaderLines[] = [
  ...lines('Idempotency-Key', '', ' ', 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(10_000)),
  ...lines('Idempotency-Key', raw('ç'), raw('🦊'), '"quoted"', 'a,b', '\x01', '__proto__', '%00'),
  [...lines('Idempotency-Key', 'one'), ...lines('Idempotency-Key', 'two')].flat(),
  ...lines('Authorization', '', 'Bearer', 'Basic YTpi', 'bearer x', 'Bearer a b', raw('Bearer ç')),
  ...lines('Authorization', `Bearer ${'x'.repeat(10_000)}`, 'Bearer troco_test_x, Bearer y', '\t'),
  ...lines('Troco-Mode', 'test', 'live', 'TEST', '__proto__'),
  ...lines('Troco-Account', '0190e5c8-7b9a-7c3e-8d1f-123456789abc', 'x', ''),
  ...lines(
    'Cookie',
    'troco-session=x',
    'troco-session=',
    ';;;=',
    `troco-session=${'A'.repeat(43)}`,
  ),
  ...lines('Cookie', 'x'.repeat(15_000), '__proto__=1; constructor=2', raw('troco-session=ç')),
  ...lines('Origin', 'null', 'https://evil.example', 'http://localhost:3000.evil.example', ''),
  ...lines(
    'X-Forwarded-For',
    '6.6.6.6',
    '6.6.6.6, 7.7.7.7,,',
    'x, '.repeat(2_000),
    '::1',
    raw('ç'),
  ),
  ...lines('X-Forwarded-Proto', 'https', 'javascript'),
  ...lines('X-Forwarded-Host', 'evil.example'),
  ...lines('Forwarded', 'for=6.6.6.6'),
  ...lines('X-Troco-Address', '6.6.6.6'),
  ...lines('X-Middleware-Subrequest', 'middleware:middleware:middleware:middleware:middleware'),
  ...lines('RSC', '1'),
  ...lines('Next-Action', 'x'),
  ...lines('Next-Router-Segment-Prefetch', '/_tree'),
  ...lines('X-HTTP-Method-Override', 'DELETE', 'PUT', 'GET', 'POST'),
  ...lines('X-Method-Override', 'GET'),
  ...lines('X-Request-Id', '', 'x'.repeat(65), raw('ç'), 'a b', '__proto__'),
  ...lines('Accept', 'text/html', 'application/xml;q=1, */*;q=0', ''),
  ...lines('Accept-Encoding', 'gzip, br', '*;q=0'),
  ...lines('Accept-Charset', 'utf-16'),
  ...lines('Range', 'bytes=0-1', 'bytes=-1'),
  ...lines('If-None-Match', '*'),
  ...lines('If-Match', '"x"'),
  ...lines('If-Modified-Since', 'Mon, 01 Jan 2035 00:00:00 GMT'),
  ...lines('Connection', 'close', 'Upgrade', 'keep-alive, Authorization', 'Content-Type'),
  [...lines('Connection', 'Upgrade'), ...lines('Upgrade', 'websocket')].flat(),
  [...lines('Connection', 'Upgrade, HTTP2-Settings'), ...lines('Upgrade', 'h2c')].flat(),
  ...lines('Keep-Alive', 'timeout=0, max=0'),
  ...lines('TE', 'trailers'),
  ...lines('Trailer', 'Authorization'),
  ...lines('Expect', '100-continue', '100-Continue', 'a-banana', ''),
  ...lines('__proto__', '1'),
  ...lines('constructor', '1'),
  ...lines(
    'X-Long',
    'x'.repeat(8_000),
    'x'.repeat(20_000),
    'x'.repeat(40_000),
    'x'.repeat(100_000),
  ),
  Array.from({ length: 200 }, (_, at): [string, string] => [`X-Many-${at}`, 'x']),
  Array.from({ length: 2_500 }, (): [string, string] => ['X', '1']),
  ...lines('X-Control', 'a\x00b', 'a\x7fb', 'a\rb', 'a\nb', 'a\x0bb'),
  ...lines('X Space', '1'),
  ...lines('X(Paren)', '1'),
  ...lines('', '1'),
  ...lines('Content-Length ', '1'),
  [['X-Folded', 'a\r\n b']],
]

const TYPES: readonly string[] = [
  ...[
    '',
    'text/plain',
    'text/html',
    'application/x-www-form-urlencoded',
    'application/xml',
    'json',
  ],
  ...['multipart/form-data; boundary=x', 'application/jsonp', 'application/json5', '*/*', 'a/json'],
  ...['application/json; charset=utf-16', 'application/json; charset=iso-8859-1', 'text/json;;'],
  ...[
    'application/json, text/plain',
    'application/vnd.api+json',
    'APPLICATION/JSON',
    raw('ç/json'),
  ],
  ...['application/json; charset="', ` ${'a'.repeat(5_000)}/json`, 'application/json\x00'],
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

export function disturbHeaders(headers: HeaderLines, random: Random): HeaderLines {
  const twist = random.between(0, 9)
  if (twist === 0) return withHeader(headers, 'Content-Type', random.pick(TYPES))
  if (twist === 1) return withHeader(headers, 'Content-Encoding', random.pick(ENCODINGS))
  if (twist === 2) return headers.filter(() => random.chance(0.5))
  if (twist === 3) return [...headers, random.pick(headers)]
  return random.chance(0.2)
    ? [...random.pick(ADDED), ...headers]
    : [...headers, ...random.pick(ADDED)]
}

export function withHeader(headers: HeaderLines, name: string, value: string): HeaderLines {
  const others = headers.filter(([known]) => known.toLowerCase() !== name.toLowerCase())
  return [...others, [name, value]]
}
