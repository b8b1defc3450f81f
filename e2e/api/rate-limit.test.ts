import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readEnv, supplyEnv } from '#lib/core/settings.ts'
import {
  type Allowance,
  allowanceHeaders,
  closeRateLimits,
  consumeAllowance,
  countFailedBearer,
} from '#lib/http/rate-limit.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const DEFAULTS = {
  RATE_TOKEN_PER_SECOND: '100',
  RATE_TOKEN_BURST: '200',
  RATE_IP_PER_SECOND: '200',
  RATE_IP_BURST: '400',
  RATE_FAILED_BEARERS_PER_MINUTE: '30',
}

function setLimits(values: Record<string, string>): void {
  supplyEnv(values)
  closeRateLimits()
}

beforeEach(() => setLimits(DEFAULTS))
afterEach(() => vi.useRealTimers())
afterAll(() => setLimits({ ...DEFAULTS, ...WITHOUT_LIMITS }))

/** Stops the clock until a test advances it, so that counts are exact on any machine. */
function freezeClock(): void {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
}

const refusal = { code: 'too_many_requests', message: 'Too Many Requests' }

/** Counts the calls that pass. */
async function countPassed(calls: number, callOnce: () => Promise<unknown>): Promise<number> {
  let passed = 0
  for (let call = 0; call < calls; call++) {
    try {
      await callOnce()
      passed++
    } catch (error) {
      expect(error).toMatchObject(refusal)
    }
  }
  return passed
}

async function callUntilRefused(callOnce: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      await callOnce()
    } catch (error) {
      return error
    }
  }
}

const tokenCall = (key: string) => async () => consumeAllowance('token', key)
const ipCall = (key: string) => async () => consumeAllowance('ip', key)

describe('one process, with a fake clock', () => {
  beforeEach(freezeClock)

  test('200 at once pass, then 100 per second, and 200 again after a pause', async () => {
    expect(await countPassed(1_000, tokenCall('a'))).toBe(200)
    for (let second = 0; second < 5; second++) {
      vi.advanceTimersByTime(1_000)
      expect(await countPassed(1_000, tokenCall('a'))).toBe(100)
    }
    vi.advanceTimersByTime(20_000)
    expect(await countPassed(1_000, tokenCall('a'))).toBe(200)
  })

  test('an address has twice the limits of a token', async () => {
    expect(await countPassed(1_000, ipCall('192.0.2.1'))).toBe(400)
    vi.advanceTimersByTime(1_000)
    expect(await countPassed(1_000, ipCall('192.0.2.1'))).toBe(200)
  })

  testInTorture(
    'a caller who continues for ten minutes gets 100 per second, at most 5 % more',
    async () => {
      let passed = 0
      for (let tenth = 0; tenth < 6_000; tenth++) {
        passed += await countPassed(15, tokenCall('a'))
        vi.advanceTimersByTime(100)
      }
      expect(passed).toBeGreaterThanOrEqual(100 * 600)
      expect(passed).toBeLessThanOrEqual(105 * 600 + 100)
    },
  )

  test.each([
    [100, 1_000],
    [10, 100],
    [1, 10],
  ])('a caller who keeps the rate, %i every %i ms, is never refused', async (calls, intervalMs) => {
    for (let beganMs = 0; beganMs < 60_000; beganMs += intervalMs) {
      expect(await countPassed(calls, tokenCall('a'))).toBe(calls)
      vi.advanceTimersByTime(intervalMs)
    }
  })

  test('a refusal gives the waiting time in whole seconds', async () => {
    await countPassed(200, tokenCall('a'))
    vi.advanceTimersByTime(1)
    await expect(tokenCall('a')()).rejects.toMatchObject({ ...refusal, retryAfterS: 1 })
    vi.advanceTimersByTime(1_000)
    expect(await tokenCall('a')()).toMatchObject({ policy: 'token', remaining: 99 })
  })

  test('a key uses no memory after its windows have ended', async () => {
    for (let key = 0; key < 500; key++) await tokenCall(`k${key}`)()
    await countPassed(300, tokenCall('a'))
    await countFailedBearer('192.0.2.1')
    expect(vi.getTimerCount()).toBe(500 + 2 + 1)
    vi.advanceTimersByTime(60_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('30 failed authentications per minute and address; then further failures are refused, valid calls are not', async () => {
    expect(await countPassed(40, () => countFailedBearer('192.0.2.1'))).toBe(30)
    vi.advanceTimersByTime(20_000)
    const next = countFailedBearer('192.0.2.1')
    await expect(next).rejects.toMatchObject({ ...refusal, retryAfterS: 40 })
    expect(await ipCall('192.0.2.1')()).not.toBeNull()
    await countFailedBearer('192.0.2.2')
    vi.advanceTimersByTime(40_000)
    expect(await countPassed(40, () => countFailedBearer('192.0.2.1'))).toBe(30)
  })

  test('each key has limits of its own, and tokens and addresses share none', async () => {
    expect(await countPassed(300, tokenCall('a'))).toBe(200)
    expect(await countPassed(300, tokenCall('b'))).toBe(200)
    expect(await countPassed(500, ipCall('a'))).toBe(400)
  })

  test.each([
    ['the same /64', '2001:db8:1:2::1', '2001:0DB8:1:2:ffff:ffff:ffff:ffff'],
    ['the same /64 with zeros in it', '2001:db8::1', '2001:db8:0:0:5::'],
    ['an IPv4-mapped IPv6 address', '192.0.2.1', '::ffff:192.0.2.1'],
    ['an IPv4-mapped address in hexadecimal', '192.0.2.1', '::ffff:c000:201'],
  ])('%s shares a limit', async (_what, first, second) => {
    expect(await countPassed(300, ipCall(first))).toBe(300)
    expect(await countPassed(300, ipCall(second))).toBe(100)
    expect(await countPassed(30, () => countFailedBearer(first))).toBe(30)
    expect(await countPassed(30, () => countFailedBearer(second))).toBe(0)
  })

  test.each([
    ['another /64', '2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['another /64 behind zeros', '2001:db8::1', '2001:db8:0:5::1'],
    ['another IPv4 address', '192.0.2.1', '192.0.2.2'],
    ['another IPv4-mapped address', '::ffff:192.0.2.1', '::ffff:192.0.2.2'],
  ])('%s has a limit of its own', async (_what, first, second) => {
    expect(await countPassed(500, ipCall(first))).toBe(400)
    expect(await countPassed(500, ipCall(second))).toBe(400)
  })

  test('a burst of 0 allows the rate only', async () => {
    setLimits({ RATE_TOKEN_PER_SECOND: '7', RATE_TOKEN_BURST: '0' })
    expect(await countPassed(20, tokenCall('a'))).toBe(7)
    vi.advanceTimersByTime(1_000)
    expect(await countPassed(20, tokenCall('a'))).toBe(7)
  })
})

test('a request after the waiting time of a refusal passes', async () => {
  setLimits({ RATE_TOKEN_PER_SECOND: '1', RATE_TOKEN_BURST: '5' })
  const refused = await callUntilRefused(tokenCall('a'))
  expect(refused).toMatchObject({ ...refusal, retryAfterS: 1 })
  await sleep(1_050)
  expect(await tokenCall('a')()).toEqual({
    policy: 'token',
    quota: 1,
    windowS: 1,
    remaining: 0,
    resetS: 1,
  })
})

test('a limit of 0 is off', async () => {
  setLimits(WITHOUT_LIMITS)
  expect(await consumeAllowance('ip', '192.0.2.1')).toBeNull()
  expect(await consumeAllowance('token', 'a')).toBeNull()
  expect(await countPassed(1_000, tokenCall('a'))).toBe(1_000)
  expect(await countPassed(1_000, ipCall('192.0.2.1'))).toBe(1_000)
  expect(await countPassed(1_000, () => countFailedBearer('192.0.2.1'))).toBe(1_000)
})

test('the headers are structured fields with one member for each limit that is on', () => {
  const ip: Allowance = { policy: 'ip', quota: 200, windowS: 1, remaining: 150, resetS: 1 }
  const token: Allowance = { policy: 'token', quota: 100, windowS: 1, remaining: 0, resetS: 1 }
  expect(allowanceHeaders([ip, token])).toEqual({
    'ratelimit-policy': '"ip";q=200;w=1, "token";q=100;w=1',
    ratelimit: '"ip";r=150;t=1, "token";r=0;t=1',
  })
  expect(allowanceHeaders([null, token])).toEqual({
    'ratelimit-policy': '"token";q=100;w=1',
    ratelimit: '"token";r=0;t=1',
  })
  expect(allowanceHeaders([null])).toEqual({})
})

describe('the settings', () => {
  test('have the documented defaults, without Redis', () => {
    const { REDIS_URL, ...values } = readEnv({})
    const numbers = Object.fromEntries(Object.entries(DEFAULTS).map(([k, v]) => [k, Number(v)]))
    expect(values).toMatchObject(numbers)
    expect(REDIS_URL).toBeUndefined()
  })

  test.each([
    [{ RATE_TOKEN_PER_SECOND: '500' }, /RATE_TOKEN_BURST is 200: .*RATE_TOKEN_PER_SECOND, 500/],
    [{ RATE_IP_BURST: '10' }, /RATE_IP_BURST is 10: .*0 or at least RATE_IP_PER_SECOND, 200/],
    [{ RATE_FAILED_BEARERS_PER_MINUTE: '-1' }, /RATE_FAILED_BEARERS_PER_MINUTE must be a whole/],
    [
      { REDIS_URL: 'http://me:hush@localhost' },
      /REDIS_URL must be a URL that begins with redis:\/\/ or rediss:/,
    ],
    [{ REDIS_URL: 'redis:me:hush' }, /REDIS_URL must be a URL that begins/],
  ])('%o is refused, and the message has no password', (values, message) => {
    expect(() => readEnv(values)).toThrow(message)
    expect(() => readEnv(values)).not.toThrow(/hush/)
  })

  test('accept rediss:// with a database number, and a burst of 0 with any rate', () => {
    const REDIS_URL = 'rediss://me:hush@redis.example:6380/3'
    expect(
      readEnv({ REDIS_URL, RATE_TOKEN_PER_SECOND: '500', RATE_TOKEN_BURST: '0' }).REDIS_URL,
    ).toBe(REDIS_URL)
  })
})
