import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { readEnv, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'

/** Slow enough that the time a test takes does not matter: an hour allows 3.6 MB. */
const RATE = 1_000
const WINDOW_S = 10
const ROW_BYTES = 50_000

let api: Api
let merchantId: string
let tokens: string[]
beforeAll(async () => {
  api = await startApi()
  ;({ id: merchantId } = await makeMerchant())
  await LISTS[0]?.insert(merchantId, { items: [{ name: 'x'.repeat(ROW_BYTES) }] })
})
beforeEach(async () => {
  supplyEnv({ RATE_TOKEN_BYTES_PER_SECOND: String(RATE) })
  tokens = await Promise.all([1, 2].map(() => makeToken(merchantId)))
})
afterEach(() => supplyEnv(WITHOUT_LIMITS))
afterAll(() => api.close())

const list = (token = tokens[0]) => call(api.url, 'GET', '/transactions', { token })
const read = (token = tokens[0]) => call(api.url, 'GET', '/account', { token })

test('the default is 20 MB per second', () => {
  expect(readEnv({}).RATE_TOKEN_BYTES_PER_SECOND).toBe(20_000_000)
})

test('a token above its average gets 429 until its bytes fit again, and no other token does', async () => {
  const { status, text } = await list()
  expect(status).toBe(200)
  const refusedTwice = [await list(), await read()]
  for (const refused of refusedTwice) {
    expect(refused.status).toBe(429)
    expect(refused.text).toBe('{"error":"Too Many Requests"}')
    expect(refused.headers.get('x-error-code')).toBe('too_many_requests')
    const retryAfterS = Number(refused.headers.get('retry-after'))
    expect(retryAfterS).toBeGreaterThan(2)
    expect(retryAfterS).toBeLessThanOrEqual(Math.ceil(text.length / RATE) - WINDOW_S)
  }
  expect((await read(tokens[1])).status).toBe(200)
  expect((await list(tokens[1])).status).toBe(200)
})

test('the sessions of a user have one average, apart from those of others and of tokens', async () => {
  const [secret, other] = await Promise.all(
    [1, 2].map(() => signIn({ id: merchantId } as Account, 'owner')),
  )
  const headers = pageHeaders(secret ?? '', merchantId)
  const asMember = (path: string, of = headers) => call(api.url, 'GET', path, { headers: of })
  expect((await asMember('/transactions')).status).toBe(200)
  for (const path of ['/transactions', '/account', '/person/sessions']) {
    const refused = await asMember(path)
    expect([path, refused.status, refused.text]).toEqual([
      path,
      429,
      '{"error":"Too Many Requests"}',
    ])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(2)
  }
  const { userId } = await db().userSession.findUniqueOrThrow({
    where: { secretHash: hashSecret(secret ?? '') },
  })
  const second = await openSession(userId, { ip: null, userAgent: 'another browser' })
  expect((await asMember('/account', pageHeaders(second, merchantId))).status).toBe(429)
  expect((await asMember('/account', pageHeaders(other ?? '', merchantId))).status).toBe(200)
  expect((await read()).status).toBe(200)
})

test('a token slightly above its average waits and then gets its response', async () => {
  supplyEnv({ RATE_TOKEN_BYTES_PER_SECOND: String(Math.floor(ROW_BYTES / (WINDOW_S + 1))) })
  expect((await list()).status).toBe(200)
  expect((await read()).status).toBe(200)
})

test('refused requests do not count beyond their own few bytes', async () => {
  await list()
  const first = Number((await read()).headers.get('retry-after'))
  for (let nth = 0; nth < 20; nth++) await read()
  const last = Number((await read()).headers.get('retry-after'))
  expect(last).toBeLessThanOrEqual(first + 1)
})

test('0 disables the limit', async () => {
  supplyEnv({ RATE_TOKEN_BYTES_PER_SECOND: '0' })
  for (let nth = 0; nth < 3; nth++) expect((await list()).status).toBe(200)
})
