import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordFigures } from '#e2e/torture/figures.ts'
import { env } from '#lib/core/settings.ts'
import { sendRaw } from '#lib/testing/call.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { inOwnDatabase, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWebProcess } from '#lib/testing/web-process.ts'
import type { WorkerProcess } from '#lib/testing/worker-process.ts'

const HOSTILE_BYTES = 30_000
/** Maximum CPU of one request in the thread that serves all. */
const CPU_MS_MAX = 20
const REPEATS = 3

/** One of each kind of path. */
const PATHS = [
  '/',
  '/login',
  '/none',
  '/_next/image',
  '/api/auth/session',
  '/api/auth/none',
  '/api/none',
  '/api/account',
  '/api/transactions/none',
  '/api/banks/none/notices/none',
  '/healthz',
  '/pay/none',
  '/receipt/none',
  '/icon.svg',
  '/docs',
  '/docs/en',
  '/api/openapi.json',
]
/** What the bytes of a query or path repeat; `#` stands for the number of the repetition. */
const PIECES = [
  'a&',
  '&',
  '=',
  'a=&',
  '&a=b',
  '#&',
  'a#=b&',
  'a[]=1&',
  'a[b]=&',
  'a[#]=#&',
  '[',
  ']',
  '?',
  ';',
  'a;',
  '+',
  '%20',
  '%',
  '%26',
  '%3D',
  '%00',
  '%ff',
  '/',
  '/a',
  '//',
  './',
  '.',
  ',',
  '-',
  '~',
  '@',
  ':',
  '*',
  '(',
  '!',
  "'",
  '%2f',
  '%2e/',
  'a',
  '1',
  '0.',
  '%F0%9F%A6%8A',
]
const COOKIES = [
  'troco-session.#=A; ',
  '__Host-troco-session.#=A; ',
  'troco-session=A; ',
  'a#=b; ',
  'a=b;',
  ';',
  '=',
  ',',
  'a;',
  ' ',
  '"',
  '%',
  'troco-openid-state.#=A; ',
  'troco-session=#; ',
]
const HEADERS = [
  'Accept',
  'Accept-Language',
  'Accept-Encoding',
  'User-Agent',
  'Referer',
  'Origin',
  'Host',
  'If-None-Match',
  'X-Forwarded-For',
  'Authorization',
  'Traceparent',
  'Prefer',
  'X-Any',
  'Next-Router-State-Tree',
  'Next-Url',
  'Content-Type',
  'Connection',
  'X-Request-Id',
  'Idempotency-Key',
  'Rsc',
  'Next-Router-Prefetch',
  'Next-Action',
]
const HEADER_PIECES = [
  'a',
  ',',
  'a,',
  'a;',
  ';q=',
  '"a",',
  ' a',
  '[',
  '%5B',
  '=',
  '-',
  '/',
  '@',
  '1',
]

const ONE_BYTE_CHUNKS = `${'1\r\n \r\n'.repeat(64_000)}0\r\n\r\n`

const fill = (piece: string, bytes = HOSTILE_BYTES) => {
  let text = ''
  for (let nth = 0; text.length < bytes; nth++) text += piece.replaceAll('#', String(nth))
  return text.slice(0, bytes)
}

inOwnDatabase()

describe.skipIf(process.platform !== 'linux')('a request of 30 KB', () => {
  const folder = makeScratchFolder('troco-size-')
  let [url, token] = ['', '']
  let web: WorkerProcess

  beforeAll(async () => {
    const { DATABASE_URL = '' } = env()
    const port = await findFreePort()
    url = `http://127.0.0.1:${port}`
    token = await makeToken((await makeMerchant()).id)
    web = await startWebProcess({
      DATABASE_URL,
      DATABASE_OWNER_URL: ownerUrlOf(DATABASE_URL),
      MIGRATE: 'false',
      PORT: `${port}`,
      HOST: '127.0.0.1',
      PUBLIC_URL: url,
      TROCO_DATA: folder,
      NODE_ENV: 'production',
      WORKER: 'false',
      TRUST_PROXY: '1',
      RATE_IP_PER_SECOND: '0',
      RATE_TOKEN_PER_SECOND: '0',
      LOG_LEVEL: 'warn',
      // As bin/bootstrap.mjs starts it.
      NODE_OPTIONS: '--max-semi-space-size=16',
      MALLOC_MMAP_THRESHOLD_: '262144',
    })
    for (const path of [...PATHS, ...PATHS]) await get(path)
  })
  afterAll(async () => {
    await web?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  const get = (target: string, headers = `Authorization: Bearer ${token}\r\n`) =>
    sendRaw(
      url,
      Buffer.from(
        `GET ${target} HTTP/1.1\r\n${/^Host:/.test(headers) ? '' : 'Host: a\r\n'}Connection: close\r\n${headers}\r\n`,
        'latin1',
      ),
    )

  /** CPU of the main thread. */
  const readCpuMs = () =>
    Number(readFileSync(`/proc/${web.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

  /** Least CPU of a few equal requests: what else the process does meanwhile does not count. */
  async function measure(target: string, headers?: string): Promise<number> {
    let least = Infinity
    for (let nth = 0; nth < REPEATS && least > CPU_MS_MAX; nth++) {
      const before = readCpuMs()
      expect((await get(target, headers)).status, target.slice(0, 50)).toBeGreaterThan(0)
      least = Math.min(least, readCpuMs() - before)
    }
    return Math.round(least)
  }

  async function listSlow(requests: [string, string?][]): Promise<string[]> {
    const slow: string[] = []
    for (const [target, headers] of requests) {
      if (slow.length === 3) break
      const ms = await measure(target, headers)
      if (ms > CPU_MS_MAX)
        slow.push(`${target.slice(0, 50)} ${(headers ?? '').slice(0, 60)}: ${ms} ms`)
    }
    return slow
  }

  test.each(PATHS)('in the query of %s takes at most 20 ms of CPU', async path => {
    expect(await listSlow(PIECES.map(piece => [`${path}?${fill(piece)}`]))).toEqual([])
  })

  test.each(PATHS)('in the path below %s takes at most 20 ms of CPU', async path => {
    const below = path === '/' ? '' : path
    expect(
      await listSlow(
        PIECES.filter(piece => !piece.includes('?')).map(piece => [`${below}/${fill(piece)}`]),
      ),
    ).toEqual([])
  })

  test.each(PATHS)('in the cookies to %s takes at most 20 ms of CPU', async path => {
    expect(await listSlow(COOKIES.map(piece => [path, `Cookie: ${fill(piece)}\r\n`]))).toEqual([])
  })

  test.each(HEADERS)('in the header %s takes at most 20 ms of CPU', async name => {
    const paths = ['/login', '/none', '/api/auth/session', '/api/account', '/pay/none']
    const requests = paths.flatMap(path => [
      ...HEADER_PIECES.map((piece): [string, string] => [path, `${name}: ${fill(piece)}\r\n`]),
      [path, `${fill(`${name}: a\r\n`)}\r\n`] as [string, string],
    ])
    expect(await listSlow(requests)).toEqual([])
  })

  /** To an operation that anyone may call. */
  const postInChunks = () =>
    sendRaw(
      url,
      `POST /api/visitor/reset HTTP/1.1\r\nHost: a\r\nOrigin: ${url}\r\nTransfer-Encoding: chunked\r\n\r\n${ONE_BYTE_CHUNKS}`,
    )

  test('in chunks of one byte takes at most 20 ms of CPU', async () => {
    let least = Infinity
    for (let nth = 0; nth < REPEATS; nth++) {
      const before = readCpuMs()
      expect((await postInChunks()).status).toBe(413)
      least = Math.min(least, readCpuMs() - before)
    }
    expect(Math.round(least)).toBeLessThanOrEqual(CPU_MS_MAX)
  })

  const floodAnonymously = (nth: number) =>
    [
      () => get(`/login?${fill('a&')}`, ''),
      () => get('/api/auth/session', `Cookie: ${fill('troco-session.#=A; ')}\r\n`),
      () => get(`/api/transactions?${fill('a#&')}`, ''),
      () => get(`/none/${fill('/a')}`, ''),
      () => postInChunks(),
    ][nth % 5]?.()
  const floodWithToken = (nth: number) => {
    const list = JSON.stringify(Array.from({ length: 30_000 }, () => 1))
    const [path, field] = [
      ['/api/tokens', 'permissions'],
      ['/api/webhooks/endpoints', 'event_types'],
      ['/api/tokens', 'allowed_addresses'],
      ['/api/transactions', 'items'],
    ][nth % 4] as [string, string]
    return fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"name":"a","${field}":${list}}`,
    }).then(response => response.text())
  }

  test('floods of 350 in flight are served within bounded memory', async () => {
    let isOver = false
    let slowestMs = 0
    const probe = async () => {
      while (!isOver) {
        const began = performance.now()
        expect((await fetch(`${url}/healthz`)).status).toBe(200)
        slowestMs = Math.max(slowestMs, performance.now() - began)
        await sleep(50)
      }
    }
    const probing = probe()
    for (let round = 0; round < 10; round++) {
      const anonymous = Array.from({ length: 200 }, (_, nth) => floodAnonymously(nth))
      const authorized = Array.from({ length: 150 }, (_, nth) => floodWithToken(nth))
      await Promise.all([...anonymous, ...authorized])
    }
    isOver = true
    await probing
    const [, peakKb = ''] =
      /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${web.pid}/status`, 'utf8')) ?? []
    const peakMb = Math.round(Number(peakKb) / 1024)
    recordFigures('floods', { 'peak MB': peakMb, 'slowest probe ms': Math.round(slowestMs) })
    // Without limits of rates, which an installation has: 350 MB were seen, and 630 while bodies outlived their requests.
    expect(peakMb).toBeLessThan(420)
  })
})
