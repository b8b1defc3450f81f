import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readEnv, supplyEnv } from '#lib/core/settings.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'
import { testInTorture } from '#lib/testing/torture.ts'

/** Places per token and per address in these tests. */
const LIMITS = { RATE_TOKEN_IN_FLIGHT: '2', RATE_IP_IN_FLIGHT: '4' }
const BODY = '{"amount":1}'
/** Exports of an account at the same time. */
const EXPORTS_MAX = 8
/** Time for a request to reach its place or its queue. */
const SETTLE_MS = 150

let api: Api
let merchantId: string
let tokens: string[]
let held: Socket[] = []
beforeAll(async () => {
  api = await startApi()
  ;({ id: merchantId } = await makeMerchant())
})
beforeEach(async () => {
  supplyEnv(LIMITS)
  tokens = await Promise.all([1, 2, 3].map(() => makeToken(merchantId)))
})
afterEach(async () => {
  for (const socket of held) socket.destroy()
  held = []
  await sleep(SETTLE_MS)
  supplyEnv(WITHOUT_LIMITS)
})
afterAll(() => api.close())

async function open(text: string): Promise<Socket> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  socket.on('error', () => {})
  held.push(socket)
  await once(socket, 'connect')
  socket.write(text)
  await sleep(SETTLE_MS)
  return socket
}

/** Occupies a place: a request whose body is complete only after `finish`. */
const hold = (token = tokens[0]) =>
  open(
    `POST /api/withdrawals HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 5)}`,
  )

async function finish(socket?: Socket): Promise<void> {
  socket?.write(BODY.slice(5))
  if (socket) await once(socket, 'data')
}

async function read(token = tokens[0], path = '/account') {
  const began = performance.now()
  const response = await call(api.url, 'GET', path, { token })
  return { ...response, tookMs: performance.now() - began }
}

test('the defaults are 300 requests per token and 600 per address', () => {
  const { RATE_TOKEN_IN_FLIGHT, RATE_IP_IN_FLIGHT } = readEnv({})
  expect([RATE_TOKEN_IN_FLIGHT, RATE_IP_IN_FLIGHT]).toEqual([300, 600])
})

test('a further request of the token waits 2 s, then gets 429 with Retry-After', async () => {
  await hold()
  await hold()
  const { status, text, headers, tookMs } = await read()
  expect(status).toBe(429)
  expect(text).toBe('{"error":"Too Many Requests"}')
  expect(headers.get('retry-after')).toBe('1')
  expect(headers.get('x-error-code')).toBe('too_many_requests')
  expect(tookMs).toBeGreaterThan(1_900)
})

test('waiting requests get free places in the order of arrival', async () => {
  const sockets = [await hold(), await hold()]
  const order: number[] = []
  const waiting = [1, 2, 3].map(async nth => {
    await sleep(nth * 50)
    const { status } = await read()
    order.push(nth)
    return status
  })
  await sleep(500)
  expect(order).toEqual([])
  await finish(sockets[0])
  expect(await Promise.all(waiting)).toEqual([200, 200, 200])
  expect(order).toEqual([1, 2, 3])
})

test('the queue of one token delays no other token at the same address', async () => {
  await hold()
  await hold()
  let refusedCount = 0
  const waiting = Array.from({ length: 20 }, async () => {
    const { status } = await read()
    refusedCount += 1
    return { status }
  })
  await sleep(SETTLE_MS)
  for (let nth = 0; nth < 5; nth++) expect((await read(tokens[1])).status).toBe(200)
  expect(refusedCount).toBe(0)
  const statuses = (await Promise.all(waiting)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([429]))
})

test('requests of all tokens count for their address, and so do those without a token', async () => {
  for (const token of [tokens[0], tokens[0], tokens[1], tokens[1]]) await hold(token)
  const refused = await Promise.all([read(tokens[2]), read('unknown'), read('', '/none/of/it')])
  expect(refused.map(({ status }) => status)).toEqual([429, 429, 404])
  const page = await fetch(`${api.url}/pay/none`)
  expect(page.status).toBe(429)
  await finish(held[0])
  expect((await read(tokens[2])).status).toBe(200)
  expect((await read('unknown')).status).toBe(401)
})

test('a sign-up whose body does not arrive holds a place of its address', async () => {
  supplyEnv({ RATE_IP_IN_FLIGHT: '1' })
  const socket = await open(
    'POST /api/visitor/signup HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost:3000\r\n' +
      `Content-Length: ${BODY.length}\r\n\r\n`,
  )
  expect((await read()).status).toBe(429)
  socket.destroy()
  expect((await read()).status).toBe(200)
})

test('a client that disconnects frees its places, also those of pipelined requests', async () => {
  await hold()
  const pipelined = await hold()
  // The rest of the body, and requests that wait behind it on the same connection.
  pipelined.write(
    `${BODY.slice(5)}${`GET /api/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokens[0]}\r\n\r\n`.repeat(20)}`,
  )
  await sleep(SETTLE_MS)
  for (const socket of held) socket.destroy()
  for (let nth = 0; nth < 5; nth++) expect((await read()).status).toBe(200)
})

test('a response that the client does not read holds its place', async () => {
  const items = [{ name: 'x'.repeat(50_000) }]
  for (let nth = 0; nth < 20; nth++) await LISTS[0]?.insert(merchantId, { items })
  const list = `GET /api/transactions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokens[0]}\r\n\r\n`
  const unread = await open('')
  unread.pause()
  // The kernel accepts the first of these 256 KB responses; the next two hold the places.
  for (let nth = 0; nth < 24; nth++) {
    unread.write(list.repeat(2))
    await sleep(SETTLE_MS)
  }
  expect((await read()).status).toBe(429)
  unread.destroy()
  expect((await read()).status).toBe(200)
})

testInTorture(
  'exports that a client does not read hold the places of their account, and of no other',
  async () => {
    supplyEnv({ RATE_IP_IN_FLIGHT: '0' })
    const [merchant, other] = [await makeMerchant(), await makeMerchant()]
    const [headers, otherHeaders] = await Promise.all(
      [merchant, other].map(async one => pageHeaders(await signIn(one, 'owner'), one.id)),
    )
    for (let nth = 0; nth < 30; nth++)
      await LISTS[0]?.insert(merchant.id, { clientName: 'x'.repeat(250_000) })
    const path = '/dashboard/charges/export?locale=en'
    const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
    for (let nth = 0; nth < EXPORTS_MAX; nth++)
      (await open(`GET /api${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`)).pause()
    const send = (by = headers) => call(api.url, 'GET', path, { headers: by })
    const refused = await send()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect((await send(otherHeaders)).status).toBe(200)
    for (const socket of held) socket.destroy()
    expect((await send()).status).toBe(200)
  },
)

test('0 disables both limits', async () => {
  supplyEnv({ RATE_TOKEN_IN_FLIGHT: '0', RATE_IP_IN_FLIGHT: '0' })
  await Promise.all([1, 2, 3, 4, 5, 6].map(() => hold()))
  expect((await read()).status).toBe(200)
})
