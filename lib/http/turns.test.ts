import { once } from 'node:events'
import { Agent, get, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { RenderQueue } from '#lib/http/turns.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'

const SETTLE_MS = 200

let front: Server
let port: number
/** Pages that the stand-in for Next is rendering; a test ends them. */
const rendering: { response: ServerResponse; resolve: () => void }[] = []
/** Paths of the pages that used the processor, in the order in which they began. */
const begun: string[] = []
let atOnce = 0
let atOnceMax = 0
beforeAll(async () => {
  front = await createFront(({ url = '' }, response) => {
    if (url.startsWith('/_next/')) {
      response.end('file')
      return Promise.resolve()
    }
    if (url.startsWith('/busy')) return renderBusily(url, response)
    return new Promise(resolve => rendering.push({ response, resolve }))
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  port = (front.address() as AddressInfo).port
})
beforeEach(() => supplyEnv({ ...WITHOUT_LIMITS, RATE_IP_IN_FLIGHT: '600' }))
afterEach(async () => {
  finishAll()
  await sleep(SETTLE_MS)
  finishAll()
  supplyEnv(WITHOUT_LIMITS)
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await disconnect()
})

/** Uses the processor in parts, as Next does, and waits for nothing. */
async function renderBusily(url: string, response: ServerResponse): Promise<void> {
  begun.push(url)
  atOnceMax = Math.max(atOnceMax, ++atOnce)
  for (let part = 0; part < 4; part++) {
    for (const until = performance.now() + 10; performance.now() < until; );
    await new Promise(resolve => setImmediate(resolve))
  }
  atOnce--
  response.end('page')
}

async function waitForRendering(count: number): Promise<void> {
  await expect.poll(() => rendering.length, { interval: 10, timeout: 1_900 }).toBe(count)
}

function finishAll(): void {
  for (const { response, resolve } of rendering.splice(0)) {
    response.end('page')
    resolve()
  }
}

interface Visit {
  status: number
  text: string
  retryAfter?: string
  tookMs: number
}

/** `host` is the client's address: each in 127.0.0.0/8 is another client. */
function visit(host = '127.0.0.1', path = '/home', signal?: AbortSignal): Promise<Visit> {
  const began = performance.now()
  const options = { host: '127.0.0.1', localAddress: host, port, path, signal, agent: new Agent() }
  return new Promise((resolve, reject) => {
    get({ ...options, headers: { accept: 'text/html' } }, async response => {
      const chunks = await response.toArray()
      const { 'retry-after': retryAfter } = response.headers
      const tookMs = performance.now() - began
      resolve({ status: response.statusCode ?? 0, text: chunks.join(''), retryAfter, tookMs })
    }).on('error', reject)
  })
}
const visitOften = (times: number, host?: string) =>
  Array.from({ length: times }, () => visit(host))

test('an address renders 10 pages at once; others wait, then get 429 as a page', async () => {
  const visits = visitOften(12)
  await waitForRendering(10)
  await sleep(2_100)
  expect(rendering).toHaveLength(10)
  finishAll()
  const results = await Promise.all(visits)
  expect(results.filter(({ status }) => status === 200)).toHaveLength(10)
  const refused = results.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(2)
  for (const { text, retryAfter, tookMs } of refused) {
    expect(text).toContain('<h1>Too many requests</h1>')
    expect(retryAfter).toBe('1')
    expect(tookMs).toBeGreaterThan(1_900)
  }
})

test('a waiting page is rendered as soon as another one is sent', async () => {
  const visits = visitOften(11)
  await waitForRendering(10)
  finishAll()
  await waitForRendering(1)
  finishAll()
  for (const { status, tookMs } of await Promise.all(visits)) {
    expect(status).toBe(200)
    expect(tookMs).toBeLessThan(1_500)
  }
})

test('the pages of one address delay no other address, and neither files nor the API', async () => {
  const visits = visitOften(60)
  await waitForRendering(10)
  const other = visit('127.0.0.2')
  await waitForRendering(11)
  for (const path of ['/_next/static/a.js', '/healthz', '/api/account']) {
    const { status, tookMs } = await visit('127.0.0.1', path)
    expect([path, status]).toEqual([path, path === '/api/account' ? 401 : 200])
    expect(tookMs).toBeLessThan(1_000)
  }
  finishAll()
  expect((await other).status).toBe(200)
  const finishing = setInterval(finishAll, 50)
  await Promise.all(visits)
  clearInterval(finishing)
})

test('a process begins 40 pages that wait; that of a further address waits', async () => {
  const visits = [1, 2, 3, 4].flatMap(nth => visitOften(10, `127.0.0.${nth}`))
  await waitForRendering(40)
  const next = visit('127.0.0.5')
  await sleep(2 * SETTLE_MS)
  expect(rendering).toHaveLength(40)
  finishAll()
  for (const { status } of await Promise.all(visits)) expect(status).toBe(200)
  await waitForRendering(1)
  finishAll()
  expect((await next).status).toBe(200)
})

test('a page whose turn does not come in time is refused, and leaves the queue', async () => {
  const queue = new RenderQueue(() => () => 1)
  const enter = (waitMs: number) => queue.enter('one', performance.now() + waitMs)
  expect(await enter(1_000)).toBe(true)
  expect(await enter(100)).toBe(false)
  const next = enter(5_000)
  queue.leave()
  expect(await next).toBe(true)
})

test('pages whose headers were sent hold places of their address, none of the process', async () => {
  const visits = [1, 2, 3, 4].flatMap(nth => visitOften(10, `127.0.0.${nth}`))
  await waitForRendering(40)
  for (const { response } of rendering) response.flushHeaders()
  const other = visit('127.0.0.5')
  await waitForRendering(41)
  expect((await visit('127.0.0.1')).status).toBe(429)
  finishAll()
  expect((await other).status).toBe(200)
  await Promise.all(visits)
})

test('a client that leaves frees its place when its page is rendered, not before', async () => {
  const leaving = new AbortController()
  const visits = Array.from({ length: 10 }, () => visit('127.0.0.1', '/home', leaving.signal))
  await waitForRendering(10)
  leaving.abort()
  await Promise.allSettled(visits)
  const next = visit()
  await sleep(SETTLE_MS)
  expect(rendering).toHaveLength(10)
  finishAll()
  await waitForRendering(1)
  finishAll()
  expect((await next).status).toBe(200)
})

test('pages that use the processor are rendered one after the other, by addresses in turn', async () => {
  const of = (path: string, times: number, host: string) =>
    Array.from({ length: times }, (_, nth) => visit(host, `/busy/${path}${nth}`))
  const visits = of('a', 5, '127.0.0.1')
  await expect.poll(() => begun.length, { interval: 5 }).toBeGreaterThan(0)
  visits.push(...of('b', 1, '127.0.0.2'))
  await Promise.all(visits)
  expect(atOnceMax).toBe(1)
  const paths = begun.map(path => path.slice('/busy/'.length))
  // One more page of `a` may begin before that of `b` arrives, and one is next in turn.
  expect(paths.slice(0, 4)).toContain('b0')
})
