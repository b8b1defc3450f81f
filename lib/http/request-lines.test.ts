import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { disconnect } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { CHARGE, makeMerchant, makeToken, openCharge } from '#lib/testing/fixtures.ts'
import { findLeak } from '#lib/testing/log-search.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { TEST_LOG } from '#lib/testing/setup.ts'

let front: Server
let origin: string
let merchant: Account
let token: string

beforeAll(async () => {
  front = await createFront(async ({ url }, response) => {
    if (url === '/home/never') response.socket?.destroy()
    else response.end('a page')
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await disconnect()
})

function linesOf(requestId: string): Record<string, unknown>[] {
  return readFileSync(TEST_LOG, 'utf8')
    .split('\n')
    .filter(line => line.includes(requestId))
    .map(line => JSON.parse(line))
}

async function request(path: string, init: RequestInit = {}): Promise<string> {
  const requestId = newId()
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': requestId, ...init.headers }
  const response = await fetch(origin + path, { ...init, headers })
  await response.text()
  return requestId
}

async function readLines(requestId: string, count: number) {
  await expect.poll(() => linesOf(requestId).length).toBeGreaterThanOrEqual(count)
  const lines = linesOf(requestId)
  expect(lines).toHaveLength(count)
  return lines
}

async function lineOf(requestId: string) {
  const [line] = await readLines(requestId, 1)
  return line
}

test('each request is one line at info, by its route, without what its path and body contain', async () => {
  const reference = `secret-reference-${newId()}`
  const body = JSON.stringify(CHARGE)
  const type = { 'content-type': 'application/json' }
  const created = await request('/api/transactions', { method: 'POST', body, headers: type })
  const sameProcess = { level: 'info', role: 'command', host: expect.stringMatching(/./) }
  const line = await lineOf(created)
  expect(line).toMatchObject({
    ...sameProcess,
    method: 'POST',
    route: '/transactions',
    status: 200,
    mode: 'test',
    requestId: created,
    accountId: merchant.id,
    msg: 'request completed',
    tookMs: expect.any(Number),
  })
  expect(line).not.toHaveProperty('code')
  const refused = await request(`/api/transactions/${reference}?client=${reference}`)
  expect(await lineOf(refused)).toMatchObject({
    ...{
      route: '/transactions/{id}',
      status: 404,
      code: 'transaction_not_found',
      accountId: merchant.id,
    },
  })
  const page = await request(`/home?${reference}`)
  expect(await lineOf(page)).toMatchObject({ route: 'page', status: 200 })
  const unknown = await request(`/api/${reference}`)
  expect(await lineOf(unknown)).toMatchObject({ route: 'none', status: 404, code: 'not_found' })
  const lines = [created, refused, page, unknown].flatMap(linesOf)
  expect(JSON.stringify(lines)).not.toContain(reference)
  expect(findLeak(JSON.stringify(lines))).toBeNull()
})

test('a probe is logged at debug', async () => {
  expect(await lineOf(await request('/healthz'))).toMatchObject({ level: 'debug' })
})

test('a stream is logged when it begins, and when it ends', async () => {
  const { id } = await openCharge(merchant)
  const requestId = newId()
  const stop = new AbortController()
  const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  await fetch(`${origin}/api/dashboard/charges/${id}/live`, {
    headers: { ...headers, 'x-request-id': requestId },
    signal: stop.signal,
  })
  const same = { level: 'info', status: 200, route: '/dashboard/charges/{id}/live' }
  const [began] = await readLines(requestId, 1)
  expect(began).toMatchObject({ msg: 'stream began', ...same, accountId: merchant.id })
  stop.abort()
  const [, ended] = await readLines(requestId, 2)
  expect(ended).toMatchObject({ msg: 'stream ended', ...same, accountId: merchant.id })
})

test('a client that disconnects before the response is logged with 499', async () => {
  const requestId = newId()
  const headers = { 'x-request-id': requestId }
  await fetch(`${origin}/home/never`, { headers }).catch(() => {})
  expect(await lineOf(requestId)).toMatchObject({ status: 499, route: 'page' })
})
