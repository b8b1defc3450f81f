import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { createFront } from '#lib/http/front.ts'
import { cookieNames } from '#lib/session/read.ts'
import { addMark, MARK_SECONDS } from '#lib/session/sign-in.ts'

const PATH = '/api/auth/callback/credentials'
const BODY = 'email=a&password=b'
const { TRUST_PROXY } = env()

let front: Server
let port: number
/** Sign-ins that reached Next, which answers them when the test says so. */
let held: { response: ServerResponse; end: () => void }[]
let refused: number
beforeEach(async () => {
  supplyEnv({ TRUST_PROXY: '1' })
  ;[held, refused] = [[], 0]
  front = await createFront(
    (request, response) =>
      new Promise(resolve => {
        if (request.method === 'GET' && request.url === '/slow') return
        const end = () => {
          response.end('done')
          resolve()
        }
        held.push({ response, end })
      }),
  )
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  port = (front.address() as AddressInfo).port
})
afterEach(async () => {
  for (const { end } of held) end()
  front.closeAllConnections()
  front.close()
  supplyEnv({ TRUST_PROXY: String(TRUST_PROXY) })
})

interface Options {
  marks?: string
  url?: string
  method?: string
  body?: string
}

function head(address: string, { marks = '', url = PATH, method = 'POST' }: Options = {}) {
  return [
    `${method} ${url} HTTP/1.1`,
    'Host: localhost',
    `X-Forwarded-For: ${address}`,
    `Cookie: a=b; ${cookieNames().device}=${marks}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${method === 'POST' ? BODY.length : 0}`,
    '\r\n',
  ].join('\r\n')
}

function send(text: string) {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.on('data', data => {
    if (!String(data).startsWith('HTTP/1.1 503')) return
    expect(String(data)).toMatch(/retry-after: 2\r\n/i)
    refused += 1
  })
  socket.write(text)
  return socket
}

/** Sends sign-ins and returns how many of them got a place. */
async function begin(count: number, addressOf: (nth: number) => string, options: Options[] = [{}]) {
  const before = { held: held.length, refused }
  for (let nth = 0; nth < count; nth++) {
    const option = options[nth % options.length] ?? {}
    send(head(addressOf(nth), option) + (option.method === 'GET' ? '' : BODY))
  }
  const done = () => held.length + refused - before.held - before.refused
  await vi.waitFor(() => expect(done()).toBe(count), 5_000)
  return held.length - before.held
}

const newMark = (issuedAt?: Date) => addMark(newId(), '', issuedAt)

test('sign-ins beyond the places are refused, but not those of known devices', async () => {
  const forged = newMark().replace(/^./, first => (first === 'A' ? 'B' : 'A'))
  const old = newMark(new Date(Date.now() - MARK_SECONDS * 1_000 - 1_000))
  const unknown = [{}, { marks: forged }, { marks: old }]
  expect(await begin(60, nth => `198.51.100.${nth}`, unknown)).toBe(50)
  expect(await begin(1, () => '192.0.2.1')).toBe(0)
  expect(await begin(1, () => '192.0.2.1', [{ url: `${PATH}?step` }])).toBe(1)
  expect(await begin(12, () => '192.0.2.1', [{ marks: newMark() }])).toBe(10)
  expect(await begin(1, () => '192.0.2.1', [{ marks: newMark() }])).toBe(1)
  for (const { end } of held) end()
  expect(await begin(1, () => '192.0.2.1')).toBe(1)
})

test('one network gets twelve places, forty with the marks of known devices', async () => {
  expect(await begin(20, nth => `2001:db8:7:${nth}::1`)).toBe(12)
  expect(await begin(1, () => '2001:db8:8::1')).toBe(1)
  expect(await begin(1, () => '2001:db8:7::1', [{ method: 'GET' }])).toBe(1)
  const marks = Array.from({ length: 10 }, () => ({ marks: newMark() }))
  expect(await begin(50, nth => `2001:db8:7:${nth}::1`, marks)).toBe(40)
  expect(await begin(1, () => '2001:db8:8::1', [{ marks: newMark() }])).toBe(1)
})

test('a sign-in takes no place before its body has arrived', async () => {
  const sockets = Array.from({ length: 60 }, (_, nth) => send(head(`198.51.100.${nth}`)))
  const marks = Array.from({ length: 20 }, () => newMark())
  for (let nth = 0; nth < 200; nth++) send(head('192.0.2.2', { marks: marks[nth % 20] ?? '' }))
  const last = send(head('192.0.2.3') + BODY.slice(1))
  await once(last, 'connect')
  expect(await begin(50, nth => `203.0.113.${nth}`)).toBe(50)
  expect(await begin(1, () => '192.0.2.2', [{ marks: newMark() }])).toBe(1)
  for (const { end } of held) end()
  const before = held.length
  for (const socket of sockets) socket.write(BODY)
  await vi.waitFor(() => expect(held.length + refused).toBe(before + 60), 5_000)
  expect(held.length - before).toBe(50)
})

test('a sign-in behind an unfinished response of its connection takes no place', async () => {
  const slow = head('198.51.100.1', { url: '/slow', method: 'GET' })
  for (let nth = 0; nth < 60; nth++) {
    const address = `198.51.100.${nth}`
    const socket = send(slow + head(address) + BODY)
    setTimeout(() => socket.destroy(), 200)
  }
  await sleep(400)
  expect(held).toHaveLength(0)
  expect(await begin(50, nth => `203.0.113.${nth}`)).toBe(50)
})
