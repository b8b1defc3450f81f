import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { type Listener, openListener } from '#lib/testing/listeners.ts'
import { closeConnections, postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'

const HEAD = 'HTTP/1.1 200 OK\r\n'
const STORED_BODY_MAX = 8 * 1024

let listeners: Listener[] = []
beforeEach(() => supplyEnv({ TROCO_ENV: 'local', WEBHOOK_ALLOW_CIDRS: '' }))
afterEach(async () => {
  closeConnections()
  await Promise.all(listeners.map(listener => listener.close()))
  listeners = []
})

async function postTo(act: (socket: Socket) => void, totalMs = 15_000, body = '{}') {
  const listener = await openListener(socket => socket.once('data', () => act(socket)))
  listeners.push(listener)
  const url = `http://127.0.0.1:${listener.port}/`
  const outcome = await postWebhook({ url, mode: 'test', headers: {}, body }, { totalMs })
  return { ...outcome, problem: problemText(outcome.problem) }
}

function respondWith(text: string | Buffer) {
  return (socket: Socket) => socket.end(text)
}

/**
 * Returns a function that writes as fast as the client reads, until the client disconnects or the
 * limit is reached.
 */
function pour(chunk: Buffer, bytesMax = Number.POSITIVE_INFINITY) {
  let written = 0
  const pourInto = (socket: Socket): void => {
    while (!socket.destroyed && written < bytesMax) {
      written += chunk.length
      if (!socket.write(chunk)) return void socket.once('drain', () => pourInto(socket))
    }
  }
  return { pourInto, written: () => written }
}

function sendSlowly(socket: Socket, text: string) {
  let index = 0
  const timer = setInterval(() => socket.write(text.charAt(index++ % text.length)), 50)
  socket.once('close', () => clearInterval(timer))
}

async function measureHeapGrowth(work: () => Promise<unknown>): Promise<number> {
  let growthMax = 0
  const before = process.memoryUsage()
  const measure = () => {
    const { heapUsed, external } = process.memoryUsage()
    growthMax = Math.max(growthMax, heapUsed + external - before.heapUsed - before.external)
  }
  const timer = setInterval(measure, 20)
  await work()
  measure()
  clearInterval(timer)
  return growthMax
}

describe('a call ends in bounded time and memory with a receiver', () => {
  test('that never responds', async () => {
    expect(await postTo(() => {}, 300)).toMatchObject({
      status: null,
      problem: 'The receiver did not answer within 0.3 s',
      address: '127.0.0.1',
    })
  })

  test('that sends its headers byte by byte', async () => {
    const outcome = await postTo(
      socket => sendSlowly(socket, `${HEAD}x: ${'y'.repeat(5_000)}`),
      500,
    )
    expect(outcome).toMatchObject({ status: null, body: null })
    expect(outcome.problem).toBe('The receiver did not answer within 0.5 s')
  })

  test('that never ends its body; the status counts', async () => {
    const outcome = await postTo(socket => {
      socket.write(`${HEAD}content-length: 1000000\r\n\r\n`)
      sendSlowly(socket, 'thanks ')
    })
    expect(outcome).toMatchObject({ status: 200, problem: null })
    expect(outcome.body).toMatch(/^thanks/)
    expect(outcome.durationMs).toBeLessThan(10_000)
  })

  test('whose body is incomplete at the timeout; the status counts', async () => {
    const outcome = await postTo(socket => socket.write(`${HEAD}\r\nhalf`), 500)
    expect(outcome).toMatchObject({ status: 200, problem: null, body: 'half' })
  })

  test.each([
    ['200 OK', null],
    ['500 Sorry', 'The receiver answered 500'],
  ])('that sends 500 MB after a %s', async (status, problem) => {
    const { pourInto, written } = pour(Buffer.alloc(64 * 1024, 'x'), 500e6)
    const grown = await measureHeapGrowth(async () => {
      const outcome = await postTo(socket => {
        socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 500000000\r\n\r\n`)
        pourInto(socket)
      })
      expect(outcome.body).toHaveLength(STORED_BODY_MAX)
      if (problem === null) expect(outcome.problem).toBeNull()
      else expect(outcome.problem).toContain(problem)
    })
    expect(grown).toBeLessThan(30e6)
    expect(written()).toBeLessThan(50e6)
  })

  test.each([
    ['1xx responses', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', ''],
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n', ''],
    ['empty lines', '\r\n', ''],
    ['headers', `x-bomb: ${'y'.repeat(200)}\r\n`, HEAD],
    ['one header', 'y'.repeat(1_000), `${HEAD}x-bomb: `],
    ['a status line', 'y'.repeat(1_000), 'HTTP/1.1 200 '],
    ['text that is not HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', ''],
    ['chunk extensions', 'y'.repeat(1_000), `${HEAD}transfer-encoding: chunked\r\n\r\n1;`],
  ])('that sends endless %s', async (_what, chunk, first) => {
    const { pourInto } = pour(Buffer.from(chunk.repeat(Math.ceil(16_384 / chunk.length))), 500e6)
    const grown = await measureHeapGrowth(async () => {
      const outcome = await postTo(socket => {
        socket.write(first)
        pourInto(socket)
      })
      // Only the chunked response has complete headers.
      expect(outcome.status).toBe(first.includes('chunked') ? 200 : null)
      if (outcome.status === null) expect(outcome.problem).toMatch(/^The (receiver|head)/)
      expect(outcome.durationMs).toBeLessThan(10_000)
    })
    expect(grown).toBeLessThan(30e6)
  })

  test('but continues after a few 102 Processing responses', async () => {
    const outcome = await postTo(
      respondWith(`${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(5)}${HEAD}\r\nok`),
    )
    expect(outcome).toMatchObject({ status: 200, problem: null, body: 'ok' })
  })

  test('that sends a gzip bomb, which is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(50e6))
    const headers = `content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`
    const grown = await measureHeapGrowth(async () => {
      const outcome = await postTo(respondWith(Buffer.concat([Buffer.from(HEAD + headers), bomb])))
      expect(outcome).toMatchObject({ status: 200, problem: null })
      expect(Buffer.byteLength(outcome.body ?? '')).toBeLessThanOrEqual(STORED_BODY_MAX)
    })
    expect(grown).toBeLessThan(30e6)
  })

  test('that responds without reading the request, which is aborted', async () => {
    const sockets: Socket[] = []
    const listener = await openListener(socket => {
      sockets.push(socket.pause())
      socket.write(`${HEAD}content-length: 2\r\n\r\nok`)
    })
    listeners.push(listener)
    const url = `http://127.0.0.1:${listener.port}/`
    const body = 'x'.repeat(50e6)
    const outcome = await postWebhook({ url, mode: 'test', headers: {}, body })
    expect(outcome).toMatchObject({ status: 200, body: 'ok' })
    const [socket] = sockets
    socket?.resume()
    await expect.poll(() => socket?.destroyed, { timeout: 10_000 }).toBe(true)
    expect(socket?.bytesRead).toBeLessThan(50e6)
  })

  test('that closes or resets the connection', async () => {
    const problem = 'The receiver closed the connection before it answered'
    expect(await postTo(socket => socket.end())).toMatchObject({ status: null, problem })
    expect(await postTo(socket => socket.destroy())).toMatchObject({ status: null, problem })
    expect(await postTo(socket => socket.resetAndDestroy())).toMatchObject({
      status: null,
      problem,
    })
    expect((await postTo(respondWith('HTTP/1.1 200 OK\r\nx: y'))).status).toBeNull()
  })

  test('that closes the connection within its body; the status counts', async () => {
    for (const rest of [
      'content-length: 100\r\n\r\nhalf',
      'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n99\r\nx',
      'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nnot a length\r\n',
    ]) {
      const outcome = await postTo(respondWith(HEAD + rest))
      expect(outcome).toMatchObject({ status: 200, problem: null })
      expect(outcome.body).toMatch(/^half/)
    }
  })

  test.each([
    'hello\r\n\r\n',
    'HTTP/9.9 200 OK\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
    'HTTP/1.1 abc OK\r\n\r\n',
    `${HEAD}no colon\r\n\r\n`,
    `${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
    `${HEAD}content-length: -1\r\n\r\n`,
    `${HEAD}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${HEAD}x: a\0b\r\n\r\n`,
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc',
  ])('that does not speak HTTP: %j', async text => {
    const outcome = await postTo(respondWith(Buffer.from(text, 'latin1')))
    expect(outcome.status).toBeNull()
    expect(outcome.problem).toMatch(/^The receiver/)
  })

  test('that sends a second response, which is not used for the next request', async () => {
    const listener = await openListener(socket =>
      socket.on('data', () =>
        socket.write(
          `${HEAD}content-length: 5\r\n\r\nfirstHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`,
        ),
      ),
    )
    listeners.push(listener)
    const url = `http://127.0.0.1:${listener.port}/`
    for (let index = 0; index < 3; index++) {
      const outcome = await postWebhook({ url, mode: 'test', headers: {}, body: '{}' })
      expect(outcome).toMatchObject({ status: 200, body: 'first' })
    }
  })
})

describe('the stored response', () => {
  async function bodyOf(bytes: Buffer): Promise<string> {
    const head = `${HEAD}content-length: ${bytes.length}\r\n\r\n`
    return (await postTo(respondWith(Buffer.concat([Buffer.from(head), bytes])))).body ?? ''
  }

  test('is valid text of at most 8 KiB', async () => {
    expect(await bodyOf(Buffer.from('a\0b\0'))).toBe('ab')
    expect(await bodyOf(Buffer.from([0x61, 0xff, 0xc3, 0x28]))).toBe('a\ufffd\ufffd(')
    // A lone surrogate, which is invalid in UTF-8.
    expect((await bodyOf(Buffer.from([0xed, 0xa0, 0x80]))).isWellFormed()).toBe(true)
    expect(await bodyOf(Buffer.from(`x${'💚'.repeat(4_000)}`))).toBe(`x${'💚'.repeat(2_047)}`)
    const noise = await bodyOf(Buffer.alloc(STORED_BODY_MAX, 0xff))
    expect(Buffer.byteLength(noise)).toBeLessThanOrEqual(STORED_BODY_MAX)
    expect(noise).toMatch(/^\ufffd+$/)
    expect(await bodyOf(Buffer.alloc(STORED_BODY_MAX, 'x'))).toHaveLength(STORED_BODY_MAX)
    expect(await bodyOf(Buffer.alloc(STORED_BODY_MAX + 1, 'x'))).toHaveLength(STORED_BODY_MAX)
  })

  test('has no cookies, no control characters and at most 8 KiB of headers', async () => {
    const { headers } = await postTo(
      respondWith(
        Buffer.from(
          `${HEAD}X-One: a\r\nx-one: b\r\nSet-Cookie: session=secret\r\nset-cookie: b=secret\r\n` +
            `x-tab: a\tb\r\nx-c1: \x85\x9b31m\r\n__proto__: p\r\ncontent-length: 0\r\n\r\n`,
          'latin1',
        ),
      ),
    )
    expect(Object.entries(headers ?? {})).toEqual([
      ...[
        ['x-one', 'a, b'],
        ['set-cookie', '[hidden]'],
        ['x-tab', 'ab'],
        ['x-c1', '31m'],
      ],
      ...[
        ['__proto__', 'p'],
        ['content-length', '0'],
      ],
    ])
    const headerLines = Array.from(
      { length: 150 },
      (_, index) => `x-${index}: ${'v'.repeat(80)}\r\n`,
    ).join('')
    const outcome = await postTo(respondWith(`${HEAD}content-length: 0\r\n${headerLines}\r\n`))
    expect(outcome.status).toBe(200)
    expect(JSON.stringify(outcome.headers).length).toBeLessThan(9_500)
  })
})
