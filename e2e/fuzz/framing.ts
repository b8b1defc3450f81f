import type { HeaderLines } from '#e2e/fuzz/world.ts'
import type { Random } from '#lib/testing/random.ts'

/** A request before it is framed; each character of a string stands for one byte. */
export interface RequestDraft {
  method: string
  target: string
  headers: HeaderLines
  body: Buffer | null
}

export interface WireRequest {
  /** Written one after the other, each in its own packet. */
  packets: Buffer[]
  /**
   * After the first response: `keep` sends the next request, `end` half-closes, `wait` lets the
   * server close. Before any response: `leave` half-closes, `drop` destroys the socket.
   */
  finish: 'keep' | 'end' | 'wait' | 'leave' | 'drop'
}

/** Share of misframed requests that only the server's time limit ends. */
const UNFINISHED_SHARE = 0.02

const BAD_LENGTHS = [
  '-1',
  '+2',
  'x',
  '1e3',
  '0x10',
  '18446744073709551616',
  '5, 5',
  '',
  '2,3',
  '0 0',
]
const BAD_CODINGS = [
  'gzip',
  'chunked, gzip',
  'gzip, chunked',
  'identity',
  'xchunked',
  'chunked,',
  '\x0bchunked',
]
const BAD_CHUNK_HEADS = ['zz', '-1', 'fffffffffffffffff', '', '0x5', '5 5', '5;\n', '1;a="', '\0']
const BAD_VERSIONS = [
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/9.9',
  'HTTPS/1.1',
  'http/1.1',
  '',
]
const BAD_HOSTS = [
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

/** The server may respond to a larger body before it has received all of it. */
export const LARGE_BODY_BYTES = 64 * 1024

export function frameCorrectly(original: RequestDraft, random: Random): WireRequest {
  const { body, method } = original
  const isLarge = body !== null && body.length > LARGE_BODY_BYTES
  const finish = isLarge || method === 'CONNECT' ? 'end' : 'keep'
  // If both sides close while a body is in transit, TCP may lose the response.
  const canSend = ([name]: [string, string]) => !isLarge || name !== 'Connection'
  const draft = { ...original, headers: original.headers.filter(canSend) }
  if (body === null) return { packets: [writeHead(draft)], finish }
  if (random.chance(0.12)) {
    const packets = [
      writeHead(draft, [['Transfer-Encoding', 'chunked']]),
      ...encodeChunked(body, random),
    ]
    return { packets, finish }
  }
  const start = writeHead(draft, [contentLength(body)])
  if (random.chance(0.05)) return { packets: [start, ...splitAtRandom(body, random)], finish }
  return { packets: [Buffer.concat([start, body])], finish }
}

export function frameWrongly(draft: RequestDraft, random: Random): WireRequest {
  const isLarge = draft.body === null || draft.body.length > LARGE_BODY_BYTES
  const body = isLarge ? Buffer.from('{"amount":1500}') : (draft.body as Buffer)
  const validLength = [contentLength(body)]
  const mutations: (() => WireRequest)[] = [
    () => sendThenEnd(writeHead(draft), body),
    () =>
      sendThenEnd(
        writeHead(draft, [['Content-Length', String(random.between(0, body.length))]]),
        body,
      ),
    () => sendThenEnd(writeHead(draft, [['Content-Length', random.pick(BAD_LENGTHS)]]), body),
    () => sendThenEnd(writeHead(draft, [...validLength, ['Content-Length', '1']]), body),
    () => sendThenEnd(writeHead(draft, [...validLength, ...validLength]), body),
    () =>
      sendThenEnd(
        writeHead(draft, [...validLength, ['Transfer-Encoding', 'chunked']]),
        ...encodeChunked(body, random),
      ),
    () =>
      sendThenEnd(
        writeHead(draft, [['Transfer-Encoding', random.pick(BAD_CODINGS)]]),
        ...encodeChunked(body, random),
      ),
    () =>
      sendThenEnd(
        writeHead(draft, [['Transfer-Encoding', 'chunked']]),
        malformChunks(body, random),
      ),
    () => sendThenEnd(writeHead(draft, validLength, random.pick(BAD_VERSIONS)), body),
    () =>
      sendThenEnd(
        writeHead(draft, validLength, 'HTTP/1.1', random.pick([null, ...BAD_HOSTS])),
        body,
      ),
    () => sendThenEnd(writeHead(draft, [['Host', 'b'], ...validLength]), body),
    () =>
      sendThenEnd(
        Buffer.from(writeHead(draft, validLength).toString('latin1').replaceAll('\r\n', '\n')),
        body,
      ),
    () => sendThenEnd(Buffer.from('\r\n\r\n'), writeHead(draft, validLength), body),
    () =>
      sendThenEnd(
        Buffer.concat([writeHead(draft, validLength), body, writeHead(draft, validLength), body]),
      ),
    () =>
      sendThenEnd(
        Buffer.from(random.pick(['\0', ' ', '\x16\x03\x01', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'])),
      ),
    () => ({ packets: [writeHead(draft, validLength), truncate(body, random)], finish: 'leave' }),
    () => ({ packets: [writeHead(draft, validLength), truncate(body, random)], finish: 'drop' }),
    () => ({ packets: [truncate(writeHead(draft, validLength), random)], finish: 'leave' }),
    () => ({ packets: [truncate(writeHead(draft, validLength), random)], finish: 'drop' }),
  ]
  return random.chance(UNFINISHED_SHARE)
    ? frameUnfinished(draft, body, random)
    : random.pick(mutations)()
}

function frameUnfinished(draft: RequestDraft, content: Buffer, random: Random): WireRequest {
  // Without content, two of these would be complete requests.
  const body = content.length > 0 ? content : Buffer.from('{}')
  const chunked: HeaderLines = [['Transfer-Encoding', 'chunked']]
  const packets = random.pick([
    [writeHead(draft, [contentLength(body)]), truncate(body, random)],
    [writeHead(draft, [contentLength(body), ['Expect', '100-continue']])],
    [writeHead(draft, chunked), encodeChunk(body)],
    [writeHead(draft, chunked), Buffer.from('5')],
    [truncate(writeHead(draft), random)],
  ])
  return { packets, finish: 'wait' }
}

function sendThenEnd(...packets: Buffer[]): WireRequest {
  return { packets, finish: 'end' }
}

function writeHead(
  { method, target, headers }: RequestDraft,
  extraHeaders: HeaderLines = [],
  version = 'HTTP/1.1',
  host: string | null = '127.0.0.1',
): Buffer {
  const hostHeader: HeaderLines = host === null ? [] : [['Host', host]]
  const lines = [...hostHeader, ...headers, ...extraHeaders].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1')
}

function contentLength(body: Buffer): [string, string] {
  return ['Content-Length', String(body.length)]
}

function truncate(bytes: Buffer, random: Random): Buffer {
  return bytes.subarray(0, random.between(0, bytes.length - 1))
}

function splitAtRandom(body: Buffer, random: Random): Buffer[] {
  const position = random.between(0, body.length)
  return [body.subarray(0, position), body.subarray(position)]
}

function encodeChunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])
}

function encodeChunked(body: Buffer, random: Random): Buffer[] {
  const chunks = splitAtRandom(body, random)
    .filter(part => part.length > 0)
    .map(encodeChunk)
  return [
    ...chunks,
    Buffer.from(random.pick(['0\r\n\r\n', '0\r\n\r\n', '0;a=b\r\nX-Trailer: 1\r\n\r\n'])),
  ]
}

function malformChunks(body: Buffer, random: Random): Buffer {
  const lineEnd = random.pick(['\r\n', '\r\n', ' \r\n', '\n'])
  return Buffer.concat([
    Buffer.from(random.pick(BAD_CHUNK_HEADS) + lineEnd),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}
