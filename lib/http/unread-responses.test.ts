import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { disconnect } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { UNREAD_TIMEOUT_MS } from '#lib/http/guard.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const TIMEOUT_MS = 1_000
const LARGE_BYTES = 40_000_000
const HEARTBEAT_MS = 1_500

let front: Server
let token: string
beforeAll(async () => {
  const merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  const items = [{ name: 'x'.repeat(50_000) }]
  for (let nth = 0; nth < 20; nth++) await LISTS[0]?.insert(merchant.id, { items })
  // Stands for pages, exports and live streams: all responses leave by the same connections.
  const respond: Parameters<typeof createFront>[0] = async ({ url }, response) => {
    if (url === '/large') return void response.end('x'.repeat(LARGE_BYTES))
    if (url === '/slow') return void setTimeout(() => response.end('done'), 2 * TIMEOUT_MS)
    response.write('open\n')
    const timer = setInterval(() => response.write('heartbeat\n'), HEARTBEAT_MS)
    response.once('close', () => clearInterval(timer))
  }
  front = await createFront(respond, { unreadTimeoutMs: TIMEOUT_MS })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await disconnect()
})

/** Sends requests on one connection and reads no response until `socket.resume()`. */
function send(path: string, count = 1): Socket {
  const socket = connect((front.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`
  socket.write(request.repeat(count))
  return socket
}

/** Returns the ages at which the server closes connections; a busy machine makes them only longer. */
function recordAges(): number[] {
  const ages: number[] = []
  front.on('connection', (connection: Socket) => {
    const began = performance.now()
    connection.once('close', () => ages.push(performance.now() - began))
  })
  return ages
}

async function expectCut(ages: number[], count: number): Promise<void> {
  await vi.waitFor(() => expect(ages).toHaveLength(count), 60 * TIMEOUT_MS)
  for (const ageMs of ages) expect(ageMs).toBeGreaterThan(0.9 * TIMEOUT_MS)
}

test('without a setting, the time is 20 s', () => {
  expect(UNREAD_TIMEOUT_MS).toBe(20_000)
})

testInTorture.each([
  ['a large response', '/large', 1],
  ['pipelined lists of 256 KB', '/api/transactions', 60],
])('%s that the client does not read is cut', async (_, path, count) => {
  const ages = recordAges()
  const sockets = Array.from({ length: 5 }, () => send(path, count))
  await expectCut(ages, 5)
  for (const socket of sockets) socket.destroy()
})

test('bytes that the client sends are no progress', async () => {
  const ages = recordAges()
  const socket = send('/large')
  socket.write('GET /large HTTP/1.1\r\n')
  const timer = setInterval(() => socket.write('x: y\r\n'), TIMEOUT_MS / 10)
  await expectCut(ages, 1)
  clearInterval(timer)
  socket.destroy()
})

testInTorture('a client that reads slowly gets the whole response', async () => {
  const socket = send('/large')
  const began = performance.now()
  let received = 0
  while (received < LARGE_BYTES && !socket.destroyed) {
    await sleep(5)
    received += socket.read()?.length ?? 0
  }
  expect(received).toBeGreaterThan(LARGE_BYTES)
  expect(performance.now() - began).toBeGreaterThan(2 * TIMEOUT_MS)
  socket.destroy()
})

test('a live stream, a slow response and an idle connection stay open', async () => {
  const sockets = [send('/live'), send('/slow').resume(), send('/live').resume()]
  let received = ''
  sockets[1]?.on('data', chunk => {
    received += chunk
  })
  await sleep(3 * TIMEOUT_MS)
  await vi.waitFor(() => expect(received).toContain('done'), 10 * TIMEOUT_MS)
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false])
  for (const socket of sockets) socket.destroy()
})
