import { afterEach, describe, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { closeRateLimits } from '#lib/http/rate-limit.ts'
import { call, sendRaw } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'

const DEFAULT_SETTINGS = { TRUST_PROXY: '0', RATE_IP_BURST: '400', ...WITHOUT_LIMITS }
/** Twelve requests at once, then one per second. */
const LOW_LIMIT = { RATE_IP_PER_SECOND: '1', RATE_IP_BURST: '12' }
const REQUEST_COUNT = 30
/** Additional requests that may pass while a slow machine sends all of them. */
const PASSED_TOLERANCE = 12

const apis: Api[] = []
afterEach(async () => {
  for (const api of apis.splice(0)) await api.close()
  supplyEnv(DEFAULT_SETTINGS)
  closeRateLimits()
})

async function startWith(settings: Record<string, string>): Promise<Api> {
  supplyEnv(settings)
  closeRateLimits()
  const api = await startApi()
  apis.push(api)
  return api
}

const makeTokenOfNewMerchant = async () => makeToken((await makeMerchant()).id)

/** Returns the payer address that a new charge stores. */
async function readStoredIp(api: Api, headers: Record<string, string>): Promise<string> {
  const token = await makeTokenOfNewMerchant()
  const created = await call(api.url, 'POST', '/transactions', { token, headers, body: CHARGE })
  const id = created.body.data.transaction_id
  return (await call(api.url, 'GET', `/transactions/${id}`, { token, headers })).body.data.ip
}

/** Counts the requests that pass; each request has headers of its own. */
async function countPassed(
  api: Api,
  headersOf: (index: number) => Record<string, string>,
): Promise<number> {
  const token = await makeTokenOfNewMerchant()
  const responses = await Promise.all(
    Array.from({ length: REQUEST_COUNT }, (_, index) =>
      call(api.url, 'GET', '/account', { token, headers: headersOf(index) }),
    ),
  )
  expect(responses.filter(({ status }) => ![200, 429].includes(status))).toEqual([])
  return responses.filter(({ status }) => status === 200).length
}

const forgedHeaders = (index: number) => ({
  'x-forwarded-for': `203.0.113.${index}`,
  'x-real-ip': `203.0.113.${index}`,
  forwarded: `for=203.0.113.${index}`,
  'x-troco-address': `203.0.113.${index}`,
  'x-client-ip': `203.0.113.${index}`,
  'cf-connecting-ip': `203.0.113.${index}`,
  'true-client-ip': `203.0.113.${index}`,
})

describe('without a proxy', () => {
  test('a charge stores the socket address, whatever headers the caller sends', async () => {
    expect(await readStoredIp(await startWith({}), forgedHeaders(9))).toBe('127.0.0.1')
  })

  test('the limit counts the socket address: forged addresses do not raise it', async () => {
    const passed = await countPassed(await startWith(LOW_LIMIT), forgedHeaders)
    // One of the twelve is the document that the fixture reads.
    expect(passed).toBeGreaterThanOrEqual(11)
    expect(passed).toBeLessThanOrEqual(11 + PASSED_TOLERANCE)
  })

  test('duplicate or differently cased headers do not change the stored address', async () => {
    const api = await startWith({})
    const token = await makeTokenOfNewMerchant()
    const body = JSON.stringify(CHARGE)
    const names = [
      'X-FORWARDED-FOR: 6.6.6.6',
      'x-forwarded-for: 7.7.7.7',
      'X-Troco-Address: 8.8.8.8',
    ]
    const { text } = await sendRaw(
      api.url,
      `POST /api/transactions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${names.join('\r\n')}\r\n` +
        `Authorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const id = JSON.parse(text).data.transaction_id
    const { body: detail } = await call(api.url, 'GET', `/transactions/${id}`, { token })
    expect(detail.data.ip).toBe('127.0.0.1')
  })
})

describe('behind one trusted proxy', () => {
  const proxySettings = { TRUST_PROXY: '1' }
  const forwardedFor = (...chain: string[]) => ({ 'x-forwarded-for': chain.join(', ') })

  test('a charge stores the address added by the proxy, or the socket address if it is invalid', async () => {
    const api = await startWith(proxySettings)
    expect(await readStoredIp(api, forwardedFor('203.0.113.7'))).toBe('203.0.113.7')
    expect(await readStoredIp(api, forwardedFor('6.6.6.6', '10.0.0.1', '203.0.113.7'))).toBe(
      '203.0.113.7',
    )
    expect(await readStoredIp(api, forwardedFor('6.6.6.6', '2001:db8::7'))).toBe('2001:db8::7')
    expect(await readStoredIp(api, {})).toBe('127.0.0.1')
    expect(await readStoredIp(api, forwardedFor('203.0.113.7', 'unknown'))).toBe('127.0.0.1')
  })

  test('a token is accepted from the address added by the proxy, in any notation', async () => {
    const api = await startWith(proxySettings)
    const allowedAddresses = ['203.0.113.0/28', '2001:db8::/48']
    const token = await makeToken((await makeMerchant()).id, { allowedAddresses })
    const statusFrom = async (...chain: string[]) =>
      (await call(api.url, 'GET', '/account', { token, headers: forwardedFor(...chain) })).status
    const inside = ['203.0.113.0', '203.0.113.15', '::ffff:203.0.113.7', '::ffff:cb00:7107']
    for (const address of [...inside, '2001:DB8::', '2001:db8:0:ffff::1'])
      expect(await statusFrom(address), address).toBe(200)
    for (const address of ['203.0.113.16', '2001:db8:1::', '::203.0.113.7', '127.0.0.1'])
      expect(await statusFrom(address), address).toBe(403)
    expect(await statusFrom('203.0.113.7', '198.51.100.1')).toBe(403)
    expect((await call(api.url, 'GET', '/account', { token })).status).toBe(403)
  })

  test('an ip in the request body takes precedence over the observed address', async () => {
    const api = await startWith(proxySettings)
    const token = await makeTokenOfNewMerchant()
    const body = { ...CHARGE, ip: '198.51.100.4' }
    const headers = forwardedFor('203.0.113.7')
    const created = await call(api.url, 'POST', '/transactions', { token, headers, body })
    const id = created.body.data.transaction_id
    const { data } = (await call(api.url, 'GET', `/transactions/${id}`, { token })).body
    expect(data.ip).toBe('198.51.100.4')
  })

  test('each client address has a limit of its own', async () => {
    const api = await startWith({ ...proxySettings, ...LOW_LIMIT })
    expect(await countPassed(api, index => forwardedFor(`203.0.113.${index}`))).toBe(REQUEST_COUNT)
  })

  test('forged entries before a client’s address do not raise its limit', async () => {
    const api = await startWith({ ...proxySettings, ...LOW_LIMIT })
    const passed = await countPassed(api, index =>
      forwardedFor(`6.6.6.${index}`, `7.7.7.${index}`, '203.0.113.200'),
    )
    expect(passed).toBeGreaterThanOrEqual(12)
    expect(passed).toBeLessThanOrEqual(12 + PASSED_TOLERANCE)
  })

  test('all addresses of one IPv6 network share a limit', async () => {
    const api = await startWith({ ...proxySettings, ...LOW_LIMIT })
    const passed = await countPassed(api, index =>
      forwardedFor(`2001:db8:1:2::${index.toString(16)}`),
    )
    expect(passed).toBeGreaterThanOrEqual(12)
    expect(passed).toBeLessThanOrEqual(12 + PASSED_TOLERANCE)
  })
})
