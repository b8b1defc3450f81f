import type { Random } from '#e2e/fuzz/random.ts'
import type { HeaderLines } from '#e2e/fuzz/world.ts'

/** A request before it is sent; every string holds one byte per character. */
export interface Draft {
  method: string
  target: string
  headers: HeaderLines
  body: Buffer | null
}

export interface Sending {
  /** Written one after the other, in separate packets. */
  parts: Buffer[]
  /**
   * After the first response: keep sends the next request, end half-closes, wait leaves it to the
   * server to close. Without waiting for a response: leave half-closes, drop destroys the socket.
   */
  finish: 'keep' | 'end' | 'wait' | 'leave' | 'drop'
}

/** Share of misframed requests that only the server's time limit ends. */
const SLOW_SHARE = 0.02

const LENGTHS = ['-1', '+2', 'x', '1e3', '0x10', '18446744073709551616', '5, 5', '', '2,3', '0 0']
const CODINGS = [
  'gzip',
  'chunked, gzip',
  'gzip, chunked',
  'identity',
  'xchunked',
  'chunked,',
  '\x0bchunked',
]
const CHUNK_HEADS = ['zz', '-1', 'fffffffffffffffff', '', '0x5', '5 5', '5;\n', '1;a="', '\0']
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/9.9',
  'HTTPS/1.1',
  'http/1.1',
  '',
]
const HOSTS = [
  '',
  'a b',
  'a/b',
  'a@b',
  'a:99999',
  '[::1',
  'ç',
  'x'.repeat(300),
  'a\tb',
  '%00',
  '..',
]

/** Above this, a request may still be in transit when its response arrives. */
export const LARGE = 64 * 1024

export function frame(given: Draft, random: Random): Sending {
  const { body, method } = given
  const isLarge = body !== null && body.length > LARGE
  const finish = isLarge || method === 'CONNECT' ? 'end' : 'keep'
  // If both sides close while a body is in transit, TCP may lose the response.
  const kept = ([name]: [string, string]) => !isLarge || name !== 'Connection'
  const draft = { ...given, headers: given.headers.filter(kept) }
  if (body === null) return { parts: [head(draft)], finish }
  if (random.chance(0.12)) {
    const parts = [head(draft, [['Transfer-Encoding', 'chunked']]), ...inChunks(body, random)]
    return { parts, finish }
  }
  const start = head(draft, [lengthOf(body)])
  if (random.chance(0.05)) return { parts: [start, ...cut(body, random)], finish }
  return { parts: [Buffer.concat([start, body])], finish }
}

export function misframe(draft: Draft, random: Random): Sending {
  const isLarge = draft.body === null || draft.body.length > LARGE
  const body = isLarge ? Buffer.from('{"amount":1500}') : (draft.body as Buffer)
  const right = [lengthOf(body)]
  const ways: (() => Sending)[] = [
    () => end(head(draft), body),
    () => end(head(draft, [['Content-Length', String(random.between(0, body.length))]]), body),
    () => end(head(draft, [['Content-Length', random.pick(LENGTHS)]]), body),
    () => end(head(draft, [...right, ['Content-Length', '1']]), body),
    () => end(head(draft, [...right, ...right]), body),
    () => end(head(draft, [...right, ['Transfer-Encoding', 'chunked']]), ...inChunks(body, random)),
    () =>
      end(head(draft, [['Transfer-Encoding', random.pick(CODINGS)]]), ...inChunks(body, random)),
    () => end(head(draft, [['Transfer-Encoding', 'chunked']]), wrongChunks(body, random)),
    () => end(head(draft, right, random.pick(VERSIONS)), body),
    () => end(head(draft, right, 'HTTP/1.1', random.pick([null, ...HOSTS])), body),
    () => end(head(draft, [['Host', 'b'], ...right]), body),
    () => end(Buffer.from(head(draft, right).toString('latin1').replaceAll('\r\n', '\n')), body),
    () => end(Buffer.from('\r\n\r\n'), head(draft, right), body),
    () => end(Buffer.concat([head(draft, right), body, head(draft, right), body])),
    () =>
      end(
        Buffer.from(random.pick(['\0', ' ', '\x16\x03\x01', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'])),
      ),
    () => ({ parts: [head(draft, right), short(body, random)], finish: 'leave' }),
    () => ({ parts: [head(draft, right), short(body, random)], finish: 'drop' }),
    () => ({ parts: [short(head(draft, right), random)], finish: 'leave' }),
    () => ({ parts: [short(head(draft, right), random)], finish: 'drop' }),
  ]
  return random.chance(SLOW_SHARE) ? neverEnding(draft, body, random) : random.pick(ways)()
}

function neverEnding(draft: Draft, body: Buffer, random: Random): Sending {
  const chunked: HeaderLines = [['Transfer-Encoding', 'chunked']]
  const parts = random.pick([
    [head(draft, [lengthOf(body)]), short(body, random)],
    [head(draft, [lengthOf(body), ['Expect', '100-continue']])],
    [head(draft, chunked), chunk(body)],
    [head(draft, chunked), Buffer.from('5')],
    [short(head(draft), random)],
  ])
  return { parts, finish: 'wait' }
}

function end(...parts: Buffer[]): Sending {
  return { parts, finish: 'end' }
}

function head(
  { method, target, headers }: Draft,
  more: HeaderLines = [],
  version = 'HTTP/1.1',
  host: string | null = '127.0.0.1',
): Buffer {
  const named: HeaderLines = host === null ? [] : [['Host', host]]
  const lines = [...named, ...headers, ...more].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1')
}

function lengthOf(body: Buffer): [string, string] {
  return ['Content-Length', String(body.length)]
}

function short(bytes: Buffer, random: Random): Buffer {
  return bytes.subarray(0, random.between(0, bytes.length - 1))
}

function cut(body: Buffer, random: Random): Buffer[] {
  const at = random.between(0, body.length)
  return [body.subarray(0, at), body.subarray(at)]
}

function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])
}

function inChunks(body: Buffer, random: Random): Buffer[] {
  const chunks = cut(body, random)
    .filter(part => part.length > 0)
    .map(chunk)
  return [
    ...chunks,
    Buffer.from(random.pick(['0\r\n\r\n', '0\r\n\r\n', '0;a=b\r\nX-Trailer: 1\r\n\r\n'])),
  ]
}

function wrongChunks(body: Buffer, random: Random): Buffer {
  const rest = random.pick(['\r\n', '\r\n', ' \r\n', '\n'])
  return Buffer.concat([
    Buffer.from(random.pick(CHUNK_HEADS) + rest),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}
