import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { readEnv, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { storeTestUsage } from '#lib/db/test-usage.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'

const QUOTA = 1_000_000
const DAY_S = 86_400
/** Near the limit of a body: 15 KB each in three fields. */
const LARGE = { ...CHARGE, metadata: { a: 'x'.repeat(15_000) }, utms: { a: 'x'.repeat(15_000) } }

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterEach(() => supplyEnv({ TEST_BYTES_PER_DAY: '0' }))
afterAll(() => api.close())

async function startMerchant() {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const create = (body: object = LARGE) =>
    call(api.url, 'POST', '/transactions', { token, body, key: newId() })
  return { merchant, token, create }
}

test('an account that has stored its bytes of the day gets 429 for writes, and still reads', async () => {
  expect(readEnv({}).TEST_BYTES_PER_DAY).toBe(200_000_000)
  supplyEnv({ TEST_BYTES_PER_DAY: String(QUOTA) })
  const { merchant, token, create } = await startMerchant()
  const other = await startMerchant()
  const repeat = { token, body: LARGE, key: newId() }
  const first = await call(api.url, 'POST', '/transactions', repeat)
  const statuses: number[] = []
  while (statuses.length < 60 && statuses.at(-1) !== 429) statuses.push((await create()).status)
  expect(statuses.at(-1)).toBe(429)
  const stored = await db().charge.count({ where: { accountId: merchant.id } })
  expect(stored * 30_000).toBeLessThan(QUOTA)
  const refused = await create()
  expect(refused.text).toBe('{"error":"Too Many Requests"}')
  expect(refused.headers.get('x-error-code')).toBe('test_quota_exceeded')
  const retryAfterS = Number(refused.headers.get('retry-after'))
  expect(Number.isInteger(retryAfterS) && retryAfterS > 0 && retryAfterS <= DAY_S).toBe(true)
  expect((await call(api.url, 'GET', '/account', { token })).status).toBe(200)
  expect((await other.create(CHARGE)).status).toBe(200)
  const replay = await call(api.url, 'POST', '/transactions', repeat)
  expect([replay.status, replay.text]).toEqual([200, first.text])
})

test('a body without a length counts as the largest that its operation takes', async () => {
  supplyEnv({ TEST_BYTES_PER_DAY: String(10 * QUOTA) })
  const { token } = await startMerchant()
  const post = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const { transaction_id: charge } = await post('/transactions', CHARGE)
  await post(`/sandbox/transactions/${charge}`, { outcome: 'paid' })
  const { id } = await post(`/sandbox/transactions/${charge}/disputes`, {})
  const send = () =>
    fetch(`${api.url}/api/disputes/${id}/evidence`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify({ text: 'a' })]).stream(),
      duplex: 'half',
    } as RequestInit)
  expect((await send()).status).toBe(200)
  expect((await send()).status).toBe(429)
})

test('a replayed request stores nothing, so it does not count', async () => {
  supplyEnv({ TEST_BYTES_PER_DAY: String(QUOTA) })
  const { token, create } = await startMerchant()
  const key = newId()
  for (let round = 0; round < 40; round++)
    await call(api.url, 'POST', '/transactions', { token, body: LARGE, key })
  expect((await create()).status).toBe(200)
})

test('processes share the count, which is stored now and then in one statement', async () => {
  supplyEnv({ TEST_BYTES_PER_DAY: String(QUOTA) })
  const { merchant, create } = await startMerchant()
  await create()
  await storeTestUsage()
  const { bytes } = await db().testUsage.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(Number(bytes)).toBeGreaterThan(60_000)
  // Another process adds what it has counted.
  await db().testUsage.updateMany({ where: { accountId: merchant.id }, data: { bytes: QUOTA } })
  expect((await create()).status).toBe(200)
  await storeTestUsage()
  expect((await create()).status).toBe(429)
})
