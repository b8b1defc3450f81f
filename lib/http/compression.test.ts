import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { COMPRESSIONS_MAX, chooseEncoding, compressWhenWritten } from '#lib/http/compression.ts'
import { splitResponses } from '#lib/testing/raw-http.ts'

/** Half of it does not shrink, so that slow readers fill all buffers. */
const LARGE = Buffer.concat([randomBytes(200_000), Buffer.alloc(200_000, 'troco ')])
/** Larger than the buffers of a connection whose client does not read. */
const HUGE = randomBytes(16_000_000)
const TEXT = 'Cobrança de R$ 12,34 para Ana Beatriz. '.repeat(50)

const open: ServerResponse[] = []
type Handler = (response: ServerResponse & { flush?: () => void }) => unknown
const PATHS: Record<string, Handler> = {
  '/text': response => response.setHeader('content-type', 'text/html').end(TEXT),
  '/json': response => {
    const type = 'application/json; charset=utf-8'
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(TEXT) }
    response.writeHead(200, 'Fine', { ...headers, etag: '"1"' }).end(TEXT)
  },
  '/weak': response =>
    response.writeHead(200, { 'content-type': 'text/html', etag: 'W/"2"', vary: 'rsc' }).end(TEXT),
  '/empty': response => response.setHeader('content-type', 'text/html').end(),
  '/refused': response => response.writeHead(503, { 'content-type': 'text/html' }).end(TEXT),
  '/large': response => response.setHeader('content-type', 'text/html').end(LARGE),
  '/chunks': response => writeLikeNext(response, LARGE),
  '/huge': response => {
    open.push(response)
    return writeLikeNext(response, HUGE)
  },
  '/short': response => response.setHeader('content-type', 'text/html').end('short'),
  '/csv': response => response.setHeader('content-type', 'text/csv').end(TEXT),
  '/events': response => response.setHeader('content-type', 'text/event-stream').end(TEXT),
  '/encoded': response =>
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'x' }).end(TEXT),
  '/untransformed': response =>
    response
      .writeHead(200, { 'content-type': 'text/html', 'cache-control': 'private, no-transform' })
      .end(TEXT),
  '/unchanged': response =>
    response.writeHead(304, { 'content-type': 'text/html', etag: '"1"' }).end(),
  '/open': response => {
    response.setHeader('content-type', 'text/html').write(TEXT)
    response.flush?.()
    open.push(response)
  },
}
const COMPRESSED = ['/text', '/json', '/weak', '/large', '/chunks', '/refused']

const WRITE_BYTES = 7_000

/** Writes in pieces and waits for `drain`, as Next does in pipe-readable.js. */
async function writeLikeNext(response: ServerResponse & { flush?: () => void }, body: Buffer) {
  response.setHeader('content-type', 'text/html')
  response.flushHeaders()
  const closed = once(response, 'close')
  for (let at = 0; at < body.length; at += WRITE_BYTES) {
    const hasRoom = response.write(body.subarray(at, at + WRITE_BYTES))
    response.flush?.()
    if (!hasRoom) {
      const drained = new Promise(resolve => response.once('drain', resolve))
      await Promise.race([drained, closed])
    }
    if (response.destroyed) return
  }
  response.end()
}

let server: Server
let port: number
let unanswered = 0
beforeAll(async () => {
  server = createServer((request, response) => {
    unanswered++
    response.once('close', () => unanswered--)
    compressWhenWritten(request, response)
    PATHS[request.url ?? '']?.(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

type Headers = Record<string, string>

function start(path: string, headers: Headers = {}, agent?: Agent, method = 'GET') {
  return request({ host: '127.0.0.1', port, path, method, headers, agent }).end()
}

async function read(path: string, headers: Headers = {}, agent?: Agent, method = 'GET') {
  const [response] = (await once(start(path, headers, agent, method), 'response')) as [
    IncomingMessage,
  ]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { response, body: Buffer.concat(chunks), head: response.headers }
}

async function readPlain(path: string): Promise<Buffer> {
  return (await read(path, { 'accept-encoding': 'identity' })).body
}

test.each([
  [undefined, null],
  ['', null],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0.5', 'gzip'],
  ['gzip;q=0', null],
  ['br;q=0, gzip;q=0.1', 'gzip'],
  ['*', 'br'],
  ['*;q=0', null],
  ['gzip;q=0, *', 'br'],
  ['br;q=0, *', 'gzip'],
  ['identity', null],
  ['identity;q=1, gzip;q=0.5, br;q=0', null],
  ['identity;q=0.1, gzip;q=0.5', 'gzip'],
  ['GZIP ; Q=0.4', 'gzip'],
  ['gzip;q=nothing', null],
  ['x-gzip', null],
])('of %j, brotli and gzip, %j is chosen', (accepted, chosen) => {
  expect(chooseEncoding(accepted, ['br', 'gzip'])).toBe(chosen)
})

describe('a response', () => {
  const gzip = { 'accept-encoding': 'br, gzip;q=0.5' }

  test.each(COMPRESSED)('%s is compressed, says so, and has the same content', async path => {
    const { head, body, response } = await read(path, gzip)
    const plain = await read(path)
    expect(head).toMatchObject({ 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' })
    expect([head['content-length'], response.statusCode]).toEqual([
      undefined,
      plain.response.statusCode,
    ])
    expect([head.vary, plain.head.vary]).toEqual(
      Array(2).fill(path === '/weak' ? 'rsc, Accept-Encoding' : 'Accept-Encoding'),
    )
    expect(gunzipSync(body).equals(plain.body)).toBe(true)
    expect(body.length).toBeLessThan(plain.body.length)
    if (head.etag) expect(head.etag).toMatch(/^W\/"\d"$/)
    const headOnly = await read(path, gzip, undefined, 'HEAD')
    expect([headOnly.head['content-encoding'], headOnly.body.length]).toEqual(['gzip', 0])
  })

  test.each(['/short', '/empty', '/csv', '/events', '/encoded', '/untransformed', '/unchanged'])(
    '%s is not compressed',
    async path => {
      const { head, body } = await read(path, gzip)
      expect(head['content-encoding']).toBe(path === '/encoded' ? 'x' : undefined)
      expect(body.equals(await readPlain(path))).toBe(true)
    },
  )

  test.each([['cross-site'], ['same-site']])(
    'that a %s page requested is not compressed',
    async site => {
      const { head } = await read('/text', { ...gzip, 'sec-fetch-site': site })
      expect(head).toMatchObject({ 'content-length': String(Buffer.byteLength(TEXT)) })
      expect(head['content-encoding']).toBeUndefined()
    },
  )

  test('to a client that speaks HTTP/1.0 ends with its connection', async () => {
    const [response] = splitResponses(
      await sendRaw('GET /text HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n'),
      1,
    )
    expect(gunzipSync(response?.body ?? Buffer.alloc(0)).toString()).toBe(TEXT)
  })

  test('shows what was flushed before the rest is written', async () => {
    const [response] = (await once(start('/open', gzip), 'response')) as [IncomingMessage]
    const text = response.pipe(createGunzip()).setEncoding('utf8')
    let received = ''
    text.on('data', chunk => {
      received += chunk
    })
    await vi.waitFor(() => expect(received).toBe(TEXT), 10_000)
    open.pop()?.end('rest')
    await once(text, 'end')
    expect(received).toBe(`${TEXT}rest`)
  })
})

test('a client that reads nothing until all buffers are full gets the whole response', async () => {
  const sent = start('/huge', { 'accept-encoding': 'gzip' })
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await vi.waitFor(() => expect(open[0]?.writableNeedDrain).toBe(true), 20_000)
  expect(open.pop()?.writableEnded).toBe(false)
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  expect(gunzipSync(Buffer.concat(chunks)).equals(HUGE)).toBe(true)
})

test('beyond four compressions at once, a response is sent as it is', async () => {
  const gzip = { 'accept-encoding': 'gzip' }
  const held = []
  for (let nth = 0; nth < COMPRESSIONS_MAX; nth++) {
    const [response] = (await once(start('/open', gzip), 'response')) as [IncomingMessage]
    held.push(response)
  }
  expect((await read('/text', gzip)).head['content-encoding']).toBeUndefined()
  expect((await read('/text', gzip)).body.toString()).toBe(TEXT)
  held.pop()?.destroy()
  await vi.waitFor(
    async () => expect((await read('/text', gzip)).head['content-encoding']).toBe('gzip'),
    10_000,
  )
  for (const response of open.splice(0)) response.end()
  for (const response of held) response.resume()
  await Promise.all(held.map(response => once(response, 'end')))
  await expectAllPlacesFree()
})

test('slow, impatient and pipelining clients get whole responses, and hold no place', async () => {
  const plain = new Map<string, Buffer>()
  const paths = Object.keys(PATHS).filter(path => !['/open', '/huge'].includes(path))
  for (const path of paths) plain.set(path, await readPlain(path))
  const expectSame = (path: string, encoding: unknown, body: Buffer) =>
    expect(
      (encoding === 'gzip' ? gunzipSync(body) : body).equals(plain.get(path) as Buffer),
      path,
    ).toBe(true)
  const agent = new Agent({ keepAlive: true, maxSockets: 6 })
  const accepted = ['gzip', 'gzip;q=0', 'br', '*', 'identity', 'br;q=0.5, gzip;q=0.2']
  const reads = Array.from({ length: 160 }, async (_, nth) => {
    const path = paths[nth % paths.length] ?? ''
    const headers = { 'accept-encoding': accepted[nth % accepted.length] ?? '' }
    const { head, body } = await read(
      path,
      { ...headers, range: 'bytes=0-9' },
      agent,
      nth % 7 === 0 ? 'HEAD' : 'GET',
    )
    if (nth % 7 !== 0) expectSame(path, head['content-encoding'], body)
  })
  const slow = Array.from({ length: 12 }, async (_, nth) => {
    const path = nth % 2 ? '/large' : '/chunks'
    const [response] = (await once(start(path, { 'accept-encoding': 'gzip' }), 'response')) as [
      IncomingMessage,
    ]
    const chunks: Buffer[] = []
    for await (const chunk of response) {
      chunks.push(chunk)
      await sleep(1)
    }
    expectSame(path, response.headers['content-encoding'], Buffer.concat(chunks))
  })
  const impatient = Array.from({ length: 60 }, async (_, nth) => {
    const sent = start(nth % 2 ? '/large' : '/chunks', { 'accept-encoding': 'gzip' })
    sent.on('error', () => {})
    if (nth % 3 === 0) return void setTimeout(() => sent.destroy(), nth % 5)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    if (nth % 3 === 1) await once(response, 'data')
    response.destroy()
  })
  const pipelined = Array.from({ length: 12 }, async (_, nth) => {
    const order = paths.map((_, index) => paths[(index * 5 + nth) % paths.length] ?? '')
    const lines = order.map(path => `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n`)
    const text = `${lines.join('\r\n')}Connection: close\r\n\r\n`
    // Every third client leaves while all its responses wait for their turn.
    if (nth % 3 === 0) return sendRaw(text, { leavesAfterBytes: 1 })
    const responses = splitResponses(await sendRaw(text), order.length)
    for (const [index, { headers, body }] of responses.entries())
      expectSame(order[index] ?? '', headers['content-encoding'], body)
  })
  await Promise.all([...reads, ...slow, ...impatient, ...pipelined])
  agent.destroy()
  await expectAllPlacesFree()
  await vi.waitFor(() => expect(unanswered).toBe(0), 10_000)
})

/** Expects that as many responses as ever can be compressed at once. */
async function expectAllPlacesFree(): Promise<void> {
  await vi.waitFor(async () => {
    const held = []
    for (let nth = 0; nth < COMPRESSIONS_MAX; nth++)
      held.push(
        (
          await once(start('/open', { 'accept-encoding': 'gzip' }), 'response')
        )[0] as IncomingMessage,
      )
    const encodings = held.map(({ headers }) => headers['content-encoding'])
    for (const response of held) response.destroy()
    open.splice(0)
    expect(encodings).toEqual(Array(COMPRESSIONS_MAX).fill('gzip'))
  }, 20_000)
}

/** Sends a text on a connection of its own and returns all bytes that come back. */
function sendRaw(
  text: string,
  { leavesAfterBytes = Number.POSITIVE_INFINITY } = {},
): Promise<Buffer> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    const chunks: Buffer[] = []
    socket.on('error', () => {})
    socket.on('data', chunk => {
      chunks.push(chunk)
      if (Buffer.concat(chunks).length >= leavesAfterBytes) socket.destroy()
    })
    socket.on('close', () => resolve(Buffer.concat(chunks)))
  })
}
