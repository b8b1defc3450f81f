import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { closeRateLimits } from '#lib/http/rate-limit.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'
import { makeWorld, resolvePath, type World } from '#lib/testing/world.ts'
import { makeToken as makeTokenText } from '#lib/tokens/authenticate.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const
/** One request per second, so that even on a slow machine a refusal follows a refusal. */
const SLOW_TOKEN = { RATE_TOKEN_PER_SECOND: '1', RATE_TOKEN_BURST: '3' }
const SLOW_IP = { RATE_IP_PER_SECOND: '1', RATE_IP_BURST: '3' }
const BURSTS = { RATE_TOKEN_BURST: '200', RATE_IP_BURST: '400' }
const REFUSAL = '{"error":"Too Many Requests"}'

let api: Api
let world: World
let token: string
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api)
})
beforeEach(async () => {
  token = await makeToken(world.merchant.id)
})
afterEach(() => setLimits({}))
afterAll(() => api.close())

function setLimits(values: Record<string, string>): void {
  supplyEnv({ ...BURSTS, ...WITHOUT_LIMITS, ...values })
  closeRateLimits()
}

type CallOptions = Parameters<typeof call>[3]
const callApi = (method = 'GET', path = '/account', options: CallOptions = {}) =>
  call(api.url, method, path, { token, ...options })

/** Repeats a call until 429, while the allowance grows by one per second. */
async function callUntilRefused(callOnce: () => Promise<ApiResponse>): Promise<ApiResponse[]> {
  const responses: ApiResponse[] = []
  while (responses.at(-1)?.status !== 429) responses.push(await callOnce())
  return responses
}

function expectRefusal(response: ApiResponse | undefined): void {
  expect([response?.status, response?.text]).toEqual([429, REFUSAL])
  expect(response?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(response?.headers.get('x-error-code')).toBe('too_many_requests')
  expect(response?.headers.get('content-type')).toBe('application/json; charset=utf-8')
}

describe('429', () => {
  test.each([
    ['token', SLOW_TOKEN],
    ['address', SLOW_IP],
  ])(
    'for a %s above its limit: the exact body and Retry-After in whole seconds',
    async (_, limit) => {
      setLimits(limit)
      const responses = await callUntilRefused(() => callApi())
      expectRefusal(responses.at(-1))
      expect(responses.length).toBeGreaterThan(3)
      expect(Number(responses.at(-1)?.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    },
  )

  test.each(OPERATIONS)('on $method $path, which then does nothing', async operation => {
    const { method, path, body } = operation
    const before = await countRows()
    setLimits(SLOW_TOKEN)
    await callUntilRefused(() => callApi())
    const responses = await callUntilRefused(() =>
      callApi(method, resolvePath(world, path), { body }),
    )
    expectRefusal(responses.at(-1))
    setLimits({})
    const createsRow = method === 'POST' && !/^\/(sandbox|webhooks)/.test(path)
    const createdCount = createsRow ? responses.filter(({ status }) => status === 200).length : 0
    expect(await countRows()).toBe(before + createdCount)
  })

  /** Counts the merchant's charges, withdrawals and refunds through the API. */
  async function countRows(): Promise<number> {
    let count = 0
    for (const path of ['/transactions', '/withdrawals', `/transactions/${world.paid}/refunds`]) {
      count += (await callApi('GET', `${path}?limit=100`)).body.data.length
    }
    return count
  }

  test('ends after Retry-After', async () => {
    setLimits({ RATE_TOKEN_PER_SECOND: '2', RATE_TOKEN_BURST: '2' })
    const [refused] = (await callUntilRefused(() => callApi())).slice(-1)
    const seconds = Number(refused?.headers.get('retry-after'))
    await new Promise(resolve => setTimeout(resolve, seconds * 1_000))
    expect((await callApi()).status).toBe(200)
  })

  test('of one token does not affect another token, in the same account or in another', async () => {
    setLimits(SLOW_TOKEN)
    await callUntilRefused(() => callApi())
    const others = [await makeToken(world.merchant.id), await makeToken((await makeMerchant()).id)]
    for (const other of others)
      expect((await callApi('GET', '/account', { token: other })).status).toBe(200)
  })

  test('does not occur while the limits are off', async () => {
    setLimits({})
    const responses = await Promise.all(Array.from({ length: 100 }, () => callApi()))
    expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200))
    expect(responses[0]?.headers.has('ratelimit')).toBe(false)
  })
})

describe('the RateLimit header fields', () => {
  const rateLimitFields = ({ headers }: ApiResponse) => [
    headers.get('ratelimit-policy'),
    headers.get('ratelimit'),
  ]

  test('are in every response, with the remaining quota of both limits', async () => {
    setLimits({ RATE_TOKEN_PER_SECOND: '100', RATE_IP_PER_SECOND: '200' })
    for (const response of [
      await callApi(),
      await callApi('POST', '/transactions', { body: {} }),
      await callApi('DELETE'),
    ]) {
      const [policy, limit] = rateLimitFields(response)
      expect(policy).toBe('"ip";q=200;w=1, "token";q=100;w=1')
      expect(limit).toMatch(/^"ip";r=(19\d|1[0-8]\d);t=1, "token";r=\d{1,2};t=1$/)
    }
  })

  test('show only active limits, and without a token only the limit of the address', async () => {
    setLimits({ RATE_TOKEN_PER_SECOND: '100' })
    expect(rateLimitFields(await callApi())[0]).toBe('"token";q=100;w=1')
    setLimits({ RATE_IP_PER_SECOND: '200' })
    expect(rateLimitFields(await callApi('GET', '/account', { token: null }))[0]).toBe(
      '"ip";q=200;w=1',
    )
  })
})

describe('the order of the checks', () => {
  test('the address is counted before authentication', async () => {
    setLimits(SLOW_IP)
    for (const caller of [null, 'nobody', makeTokenText(world.merchant.id, 'test'), token]) {
      const responses = await callUntilRefused(() => callApi('GET', '/account', { token: caller }))
      expectRefusal(responses.at(-1))
    }
  })

  test('authentication precedes the token’s limit: a revoked token is 401, not 429', async () => {
    const tokenOptions = { accountId: world.merchant.id, mode: 'test' as const, name: 'leaked' }
    const leaked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    setLimits(SLOW_TOKEN)
    await callUntilRefused(() => callApi('GET', '/account', { token: leaked.token }))
    await revokeToken(leaked.id, 'leaked', ACTOR)
    for (let count = 0; count < 5; count++) {
      expect((await callApi('GET', '/account', { token: leaked.token })).status).toBe(401)
    }
  })

  test('permissions precede the token’s limit: 403, however often', async () => {
    const other = await makeMerchant()
    const reader = await makeToken(other.id, { permissions: ['account:read'] })
    setLimits(SLOW_TOKEN)
    await callUntilRefused(() => callApi('GET', '/account', { token: reader }))
    const denied = () => callApi('POST', '/transactions', { token: reader, body: CHARGE })
    for (let count = 0; count < 5; count++) expect((await denied()).status).toBe(403)
    await suspendAccount(other.id, 'test', ACTOR)
    const response = await callApi('GET', '/account', { token: reader })
    expect(response.text).toBe('{"error":"Account not active"}')
  })

  test.each<[number, string, string, CallOptions]>([
    [405, 'DELETE', '/account', {}],
    [415, 'POST', '/transactions', { headers: { 'content-type': 'text/plain' }, raw: 'x' }],
    [413, 'POST', '/transactions', { raw: 'x'.repeat(70_000) }],
    [400, 'POST', '/transactions', { raw: '{' }],
    [422, 'POST', '/transactions', { body: {} }],
    [404, 'GET', '/transactions/nobody', {}],
  ])('the token is counted before %i', async (status, method, path, options) => {
    expect((await callApi(method, path, options)).status).toBe(status)
    setLimits(SLOW_TOKEN)
    const responses = await callUntilRefused(() => callApi(method, path, options))
    expectRefusal(responses.at(-1))
    expect(responses[0]?.status).toBe(status)
  })
})

describe('failed authentication', () => {
  const BEARER_LIMIT = { RATE_FAILED_BEARERS_PER_MINUTE: '5' }
  const callWithBadToken = () =>
    callApi('GET', '/account', { token: makeTokenText(world.merchant.id, 'test') })

  test('is limited by address; a valid token is never refused', async () => {
    setLimits(BEARER_LIMIT)
    const responses = await callUntilRefused(callWithBadToken)
    expect(responses.slice(0, -1).map(({ status }) => status)).toEqual(Array(5).fill(401))
    expectRefusal(responses.at(-1))
    expect(Number(responses.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(1)
    for (let count = 0; count < 20; count++) {
      expect((await callApi()).status).toBe(200)
      expect((await callApi('POST', '/transactions', { body: {} })).status).toBe(422)
    }
    expectRefusal(await callWithBadToken())
    const fresh = await makeToken((await makeMerchant()).id)
    expect((await callApi('GET', '/account', { token: fresh })).status).toBe(200)
  })

  test('counts unknown, revoked, expired and malformed tokens and other schemes', async () => {
    setLimits(BEARER_LIMIT)
    const tokenOptions = { accountId: world.merchant.id, mode: 'test' as const, name: 'leaked' }
    const leaked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    await revokeToken(leaked.id, 'leaked', ACTOR)
    const expired = await makeToken(world.merchant.id, { expiresAt: new Date(Date.now() - 1_000) })
    const invalidHeaders = [
      'Basic YTpi',
      'Bearer',
      `Bearer ${leaked.token}`,
      `Bearer ${expired}`,
      'Bearer x',
    ]
    for (const authorization of invalidHeaders) {
      const response = await callApi('GET', '/account', { token: null, headers: { authorization } })
      expect(response.status).toBe(401)
    }
    expectRefusal(await callWithBadToken())
  })

  test('does not limit requests without credentials, which stay 401', async () => {
    setLimits(BEARER_LIMIT)
    await callUntilRefused(callWithBadToken)
    expect((await callApi('GET', '/account', { token: null })).status).toBe(401)
  })
})
