import { beforeAll, beforeEach, expect, test } from 'vitest'
import { GET } from '#app/api/account/route.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import { CHARGE, fundMerchant, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'

let url: string
beforeAll(async () => {
  ;({ url } = await startApi())
})

// Other tests of this process may have filled its buffer.
beforeEach(storeRequests)

test('a request that Next passes on without variable parts is logged', async () => {
  const token = await makeToken((await makeMerchant()).id)
  const request = new Request(`${url}/api/account`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect((await GET(request)).status).toBe(200)
  await storeRequests()
  expect((await call(url, 'GET', '/requests', { token })).body.data).toMatchObject([
    { method: 'GET', status: 200 },
  ])
})

test('requests to paths with and without variable parts are logged, with their bodies', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 10_000)
  const token = await makeToken(merchant.id)
  const created = await call(url, 'POST', '/transactions', { token, body: CHARGE })
  await call(url, 'GET', `/transactions/${created.body.data.transaction_id}`, { token })
  await call(url, 'POST', '/withdrawals', { token, body: WITHDRAWAL })
  await call(url, 'GET', '/account', { token })
  const list = async () => {
    await storeRequests()
    return (await call(url, 'GET', '/requests', { token })).body.data
  }
  // A server of its own stores them a moment later.
  await expect.poll(async () => (await list()).length).toBe(4)
  const requests: { id: string; method: string; path: string }[] = await list()
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /account',
    'POST /withdrawals',
    'GET /transactions/{id}',
    'POST /transactions',
  ])
  const detail = (await call(url, 'GET', `/requests/${requests[1]?.id}`, { token })).body.data
  expect(detail.request_body).toMatchObject({ amount: WITHDRAWAL.amount, pix_key: '***' })
})
