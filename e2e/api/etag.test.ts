import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, fundMerchant, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'

let api: Api
let token: string
const paths: Record<string, string> = {}

const post = async (path: string, body: object) =>
  (await call(api.url, 'POST', path, { token, body })).body.data

const firstIdOf = async (path: string) =>
  (await call(api.url, 'GET', path, { token })).body.data[0].id

beforeAll(async () => {
  const started = await startApiWithMerchant()
  api = started.api
  token = started.token
  await fundMerchant(started.merchant, 10_000)
  const charge = `/transactions/${(await post('/transactions', CHARGE)).transaction_id}`
  const paid = `/transactions/${(await post('/transactions', CHARGE)).transaction_id}`
  await post(`/sandbox${paid}`, { outcome: 'paid' })
  paths.charge = charge
  paths.refund = `${paid}/refunds/${(await post(`${paid}/refunds`, { amount: 100 })).id}`
  paths.withdrawal = `/withdrawals/${(await post('/withdrawals', WITHDRAWAL)).id}`
  paths.svg = `${charge}/qr.svg`
  paths.png = `${charge}/qr.png`
  const endpoint = await post('/webhooks/endpoints', {
    url: 'http://127.0.0.1:1025/',
    event_types: '*',
  })
  paths.endpoint = `/webhooks/endpoints/${endpoint.id}`
  const { transaction_id } = await post('/transactions', CHARGE)
  await post(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
  paths.delivery = `/webhooks/deliveries/${await firstIdOf('/webhooks/deliveries')}`
  await storeRequests()
  paths.request = `/requests/${await firstIdOf('/requests')}`
})
afterAll(() => api.close())

function read(name: string, tags?: string, method = 'GET'): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...(tags && { 'if-none-match': tags }) }
  return fetch(`${api.url}/api${paths[name]}`, { method, headers })
}

describe.each(['charge', 'refund', 'withdrawal', 'svg', 'png', 'endpoint', 'delivery', 'request'])(
  'a single %s',
  name => {
    test('has a tag under which it is not sent again', async () => {
      const { status, headers } = await read(name)
      const tag = headers.get('etag') ?? ''
      expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-cache'])
      expect(tag).toMatch(/^"[\w-]{22}"$/)
      for (const tags of [tag, '*', `W/${tag}`, `"other", ${tag}`]) {
        for (const method of ['GET', 'HEAD']) {
          const again = await read(name, tags, method)
          expect([again.status, await again.text()], tags).toEqual([304, ''])
          expect(again.headers.get('etag')).toBe(tag)
          expect(again.headers.get('cache-control')).toBe('private, no-cache')
          expect(again.headers.get('content-type')).toBeNull()
        }
      }
      for (const tags of ['"other"', tag.slice(1, -1), 'W/"', '"*"', '']) {
        expect((await read(name, tags)).status, tags).toBe(200)
      }
      expect((await read(name, undefined, 'HEAD')).headers.get('etag')).toBe(tag)
    })
  },
)

test('a change gives another tag', async () => {
  const charge = `/transactions/${(await post('/transactions', CHARGE)).transaction_id}`
  paths.changing = charge
  const tag = (await read('changing')).headers.get('etag') ?? ''
  await post(`/sandbox${charge}`, { outcome: 'paid' })
  const changed = await read('changing', tag)
  expect([changed.status, (await changed.json()).data.status]).toEqual([200, 'paid'])
  expect(changed.headers.get('etag')).not.toBe(tag)
})

test('lists, the balance and refusals have no tag, and If-None-Match changes nothing', async () => {
  for (const path of ['/transactions', '/account', '/transactions/unknown', '/statement']) {
    const headers = { 'if-none-match': '*' }
    const response = await call(api.url, 'GET', path, { token, headers })
    expect([response.status, response.headers.has('etag')]).toEqual([
      path.endsWith('unknown') ? 404 : 200,
      false,
    ])
  }
})
