import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'
import { networkOf } from '#lib/base/network.ts'
import { RedisLink } from '#lib/edge/http/redis.ts'

export interface Allowance {
  policy: 'ip' | 'token'
  quota: number
  windowS: number
  remaining: number
  resetS: number
}

/** What a limiter says of one key, when it allows and when it refuses. */
interface Count {
  remainingPoints: number
  msBeforeNext: number
}

interface Limiter {
  consume: (key: string) => Promise<Count>
}

interface Rate {
  quota: number
  windowS: number
  limiter: Limiter
}

interface Limits {
  ip: Rate | null
  token: Rate | null
  bearer: Limiter | null
  link: RedisLink | null
}

/** What goes beyond the rate is spread so that it adds at most a twentieth to it. */
const EXTRA_SHARE = 1 / 20
/** Whatever the settings, a rest of an hour is enough. */
const EXTRA_WINDOW_MAX_S = 3_600
const MINUTE_S = 60

const HOLDER = Symbol.for('troco.rate-limits')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Limits }

/** Takes one from the allowance; refuses when it is used up. Null: this limit is off. */
export async function takeAllowance(
  policy: 'ip' | 'token',
  key: string,
): Promise<Allowance | null> {
  const rate = limits()[policy]
  if (!rate) return null
  const count = await countOne(rate.limiter, policy === 'ip' ? networkOf(key) : key)
  return {
    policy,
    quota: rate.quota,
    windowS: rate.windowS,
    remaining: count.remainingPoints,
    resetS: wholeSeconds(count.msBeforeNext),
  }
}

/** What a refused caller is told of its allowance. */
export function spentAllowance(policy: 'ip' | 'token', resetS: number): Allowance | null {
  const rate = limits()[policy]
  return rate && { policy, quota: rate.quota, windowS: rate.windowS, remaining: 0, resetS }
}

/** Counts a bearer that failed; refuses once its address has had its number for this minute. */
export async function countFailedBearer(ip: string): Promise<void> {
  const limiter = limits().bearer
  if (limiter) await countOne(limiter, networkOf(ip))
}

/** The fields of draft-ietf-httpapi-ratelimit-headers; `r` counts the rate only, not the burst. */
export function allowanceHeaders(allowances: (Allowance | null)[]): Record<string, string> {
  const known = allowances.filter(allowance => allowance !== null)
  if (known.length === 0) return {}
  return {
    'ratelimit-policy': known.map(a => `"${a.policy}";q=${a.quota};w=${a.windowS}`).join(', '),
    ratelimit: known.map(a => `"${a.policy}";r=${a.remaining};t=${a.resetS}`).join(', '),
  }
}

/** Lets go of Redis and of all counts; the next use reads the settings anew. */
export function closeRateLimits(): void {
  holder[HOLDER]?.link?.close()
  delete holder[HOLDER]
}

/** The process's one set, shared by the native modules and Next's copy of them. */
function limits(): Limits {
  holder[HOLDER] ??= makeLimits()
  return holder[HOLDER]
}

function makeLimits(): Limits {
  const wanted = env()
  const failed = wanted.RATE_FAILED_BEARERS_PER_MINUTE
  const isNeeded = wanted.RATE_IP_PER_SECOND + wanted.RATE_TOKEN_PER_SECOND + failed > 0
  const link = wanted.REDIS_URL && isNeeded ? new RedisLink(wanted.REDIS_URL) : null
  return {
    ip: makeRate('ip', wanted.RATE_IP_PER_SECOND, wanted.RATE_IP_BURST, link),
    token: makeRate('token', wanted.RATE_TOKEN_PER_SECOND, wanted.RATE_TOKEN_BURST, link),
    bearer: failed > 0 ? makeWindow('bearer', failed, MINUTE_S, link) : null,
    link,
  }
}

/**
 * Windows of a second hold `rate`, longer ones the rest of `burst`: who was quiet for windowS may send
 * `burst` at once, who keeps to the rate is never refused, who sends on and on gets 105 % of it.
 * T whole seconds let pass at most rate × (T + 1) + extra × (T / windowS + 2), edges included.
 */
function makeRate(name: string, rate: number, burst: number, link: RedisLink | null): Rate | null {
  if (rate === 0) return null
  const seconds = makeWindow(name, rate, 1, link)
  const extra = burst - rate
  if (extra <= 0) return { quota: rate, windowS: 1, limiter: seconds }
  const windowS = Math.min(Math.ceil(extra / (rate * EXTRA_SHARE)), EXTRA_WINDOW_MAX_S)
  const more = makeWindow(`${name}-burst`, extra, windowS, link)
  return { quota: rate, windowS: 1, limiter: new BurstyRateLimiter(seconds, more) }
}

function makeWindow(name: string, points: number, duration: number, link: RedisLink | null) {
  const memory = new RateLimiterMemory({ keyPrefix: '', points, duration })
  if (!link) return memory
  return new RateLimiterRedis({
    storeClient: link,
    // It knows node-redis by a class name that this version no longer has.
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    insuranceLimiter: memory,
    keyPrefix: `troco:${name}`,
    points,
    duration,
  })
}

async function countOne(limiter: Limiter, key: string): Promise<Count> {
  try {
    return await limiter.consume(key)
  } catch (refusal) {
    if (!isCount(refusal)) throw refusal
    const retryAfterS = wholeSeconds(refusal.msBeforeNext)
    throw refuse('too_many_requests', { retryAfterS })
  }
}

// Told by its form: the class may be the other copy's.
function isCount(value: unknown): value is Count {
  return typeof value === 'object' && value !== null && 'msBeforeNext' in value
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}
