import type { createClient } from '@redis/client'
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { networkOf } from '#lib/core/addresses.ts'
import { enterGate, gateOf, leaveGate } from '#lib/core/concurrency.ts'
import { refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'

export interface Allowance {
  policy: 'ip' | 'token'
  quota: number
  windowS: number
  remaining: number
  resetS: number
}

interface LimiterResult {
  remainingPoints: number
  msBeforeNext: number
}

interface Limiter {
  consume: (key: string) => Promise<LimiterResult>
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

/** Share that bursts may add to the sustained rate: 5 %. */
const BURST_SHARE = 1 / 20
const BURST_WINDOW_MAX_S = 3_600
const MINUTE_S = 60

let current: Limits | null = null

/** Rejects with `too_many_requests` above the limit. Returns null if the limit is off. */
export function consumeAllowance(policy: 'ip' | 'token', key: string): Promise<Allowance> | null {
  const rate = limits()[policy]
  return rate && consumeRate(rate, policy, key)
}

async function consumeRate(rate: Rate, policy: 'ip' | 'token', key: string): Promise<Allowance> {
  const result = await consumeOne(rate.limiter, policy === 'ip' ? networkOf(key) : key)
  return {
    policy,
    quota: rate.quota,
    windowS: rate.windowS,
    remaining: result.remainingPoints,
    resetS: wholeSeconds(result.msBeforeNext),
  }
}

/** Returns the allowance for the headers of a refused request. */
export function exhaustedAllowance(policy: 'ip' | 'token', resetS: number): Allowance | null {
  const rate = limits()[policy]
  return rate && { policy, quota: rate.quota, windowS: rate.windowS, remaining: 0, resetS }
}

/** Throws `too_many_requests` above the limit per network and minute. */
export async function countFailedBearer(ip: string): Promise<void> {
  const limiter = limits().bearer
  if (limiter) await consumeOne(limiter, networkOf(ip))
}

/** Builds the headers of draft-ietf-httpapi-ratelimit-headers. `r` excludes the burst allowance. */
export function allowanceHeaders(allowances: (Allowance | null)[]): Record<string, string> {
  const active = allowances.filter(allowance => allowance !== null)
  if (active.length === 0) return {}
  return {
    'ratelimit-policy': active.map(a => `"${a.policy}";q=${a.quota};w=${a.windowS}`).join(', '),
    ratelimit: active.map(a => `"${a.policy}";r=${a.remaining};t=${a.resetS}`).join(', '),
  }
}

/** Headers of a page that is refused because its address has used up the limit. */
export function busyAddressHeaders(retryAfterS: number): Record<string, string> {
  const allowance = exhaustedAllowance('ip', retryAfterS)
  return { ...allowanceHeaders([allowance]), 'retry-after': String(retryAfterS) }
}

/** Closes Redis and drops all counts; the next use reads the settings again. */
export function closeRateLimits(): void {
  current?.link?.close()
  current = null
}

function limits(): Limits {
  current ??= makeLimits()
  return current
}

function makeLimits(): Limits {
  const settings = env()
  const failedBearersMax = settings.RATE_FAILED_BEARERS_PER_MINUTE
  const isNeeded =
    settings.RATE_IP_PER_SECOND + settings.RATE_TOKEN_PER_SECOND + failedBearersMax > 0
  const link = settings.REDIS_URL && isNeeded ? new RedisLink(settings.REDIS_URL) : null
  return {
    ip: makeRate('ip', settings.RATE_IP_PER_SECOND, settings.RATE_IP_BURST, link),
    token: makeRate('token', settings.RATE_TOKEN_PER_SECOND, settings.RATE_TOKEN_BURST, link),
    bearer: failedBearersMax > 0 ? makeWindow('bearer', failedBearersMax, MINUTE_S, link) : null,
    link,
  }
}

/**
 * Allows `rate` per second plus `burst - rate` per window, which is long enough that bursts add at
 * most 5 % to the sustained rate. T whole seconds admit at most rate × (T + 1) + extra × (T /
 * window + 2), because windows may begin before and end after them.
 */
function makeRate(name: string, rate: number, burst: number, link: RedisLink | null): Rate | null {
  if (rate === 0) return null
  const sustained = makeWindow(name, rate, 1, link)
  const extra = burst - rate
  if (extra <= 0) return { quota: rate, windowS: 1, limiter: sustained }
  const windowS = Math.min(Math.ceil(extra / (rate * BURST_SHARE)), BURST_WINDOW_MAX_S)
  const bursts = makeWindow(`${name}-burst`, extra, windowS, link)
  return { quota: rate, windowS: 1, limiter: new BurstyRateLimiter(sustained, bursts) }
}

function makeWindow(name: string, points: number, duration: number, link: RedisLink | null) {
  const memory = new RateLimiterMemory({ keyPrefix: '', points, duration })
  if (!link) return memory
  return new RateLimiterRedis({
    storeClient: link,
    // The library recognizes node-redis by a class name that this version no longer has.
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    insuranceLimiter: memory,
    keyPrefix: `troco:${name}`,
    points,
    duration,
  })
}

async function consumeOne(limiter: Limiter, key: string): Promise<LimiterResult> {
  try {
    return await limiter.consume(key)
  } catch (refusal) {
    if (!isLimiterResult(refusal)) throw refusal
    const retryAfterS = wholeSeconds(refusal.msBeforeNext)
    throw refuse('too_many_requests', { retryAfterS })
  }
}

// Checks the properties, not the class: Next loads its own copy of the library.
function isLimiterResult(value: unknown): value is LimiterResult {
  return typeof value === 'object' && value !== null && 'msBeforeNext' in value
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

type Client = ReturnType<typeof createClient>
type Script = { keys: string[]; arguments: string[] }

/** Far above the usual time. A hanging Redis delays requests once: its client is then dropped. */
const RESPONSE_TIMEOUT_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
const RETRY_MS = 1_000

/** Replaces its client after the first error: no request waits for a dead connection. */
class RedisLink {
  readonly #url: string
  #client: Client | undefined
  #retry: NodeJS.Timeout | undefined
  #isUnreachable = false
  #isClosed = false

  constructor(url: string) {
    this.#url = url
    void this.#connect()
  }

  get isReady(): boolean {
    return this.#client?.isReady ?? false
  }

  async eval(script: string, values: Script): Promise<unknown> {
    const client = this.#client
    if (!client) throw new Error('Redis is not connected')
    try {
      const response = await withTimeout(client.eval(script, values))
      this.#markReachable()
      return response
    } catch (error) {
      this.#drop(client, error)
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#client?.destroy()
    this.#client = undefined
  }

  async #connect(): Promise<void> {
    let client: Client | undefined
    try {
      // Imported only if Redis is used: the client loads more slowly than the rest of this module.
      const { createClient } = await import('@redis/client')
      if (this.#isClosed) return
      client = createClient({
        url: this.#url,
        disableOfflineQueue: true,
        // The client's reconnecting would prevent exit; its connect timeout ends with a command.
        socket: { reconnectStrategy: false, connectTimeout: CONNECT_TIMEOUT_MS / 2 },
        commandOptions: { timeout: undefined },
        maintNotifications: 'disabled',
      })
      const newClient = client
      this.#client = newClient
      newClient.on('error', error => this.#drop(newClient, error))
      newClient.unref()
      // A host may accept the connection and never respond.
      const timer = setTimeout(
        () => this.#drop(newClient, timeoutError()),
        CONNECT_TIMEOUT_MS,
      ).unref()
      await newClient.connect().finally(() => clearTimeout(timer))
      // The client was dropped while connecting, but the connection may have been opened.
      if (this.#client !== newClient) newClient.destroy()
    } catch (error) {
      this.#drop(client, error)
    }
  }

  #markReachable(): void {
    if (!this.#isUnreachable) return
    this.#isUnreachable = false
    log().info('Redis reconnected, rate limits are shared again')
  }

  #drop(client: Client | undefined, error: unknown): void {
    client?.destroy()
    if (this.#isClosed || this.#client !== client) return
    this.#client = undefined
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS).unref()
    if (this.#isUnreachable) return
    this.#isUnreachable = true
    const reply = replyCode(error)
    log().warn({ err: error, reply }, 'Redis unavailable, rate limits are counted per process')
  }
}

/** Returns the first word of a Redis error: NOAUTH, WRONGPASS, READONLY and so on. */
function replyCode(error: unknown): string | undefined {
  return error instanceof Error ? /^[A-Z]{3,}\b/.exec(error.message)?.[0] : undefined
}

function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // If this process was blocked, the response may already be here: let it resolve first.
    const timer = setTimeout(() => setImmediate(() => reject(timeoutError())), RESPONSE_TIMEOUT_MS)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Has a code, because the log drops the message of an unknown error. */
function timeoutError(): Error {
  return Object.assign(new Error('Redis did not respond in time'), { code: 'ETIMEDOUT' })
}

type Policy = 'ip' | 'token' | 'export' | 'heavy' | 'heavyOfAll'

/**
 * Exports of an account at the same time, each with up to 2 MiB of rows and text that its client has
 * yet to read. One that moves is never cut, so the places of an address alone would allow 600.
 */
const EXPORTS_MAX = 8
/** Heavy requests of an account, and of all, at the same time: a file of 5 MB takes up to 23 MB. */
const HEAVY_MAX = 2
const HEAVY_OF_ALL_MAX = 6
/** Time that a request waits for a place, all its waits together. */
export const WAIT_MAX_MS = 2_000

/** The places of one request within the limits of its token and address, in this process. */
export class Places {
  #held: { name: string; max: number }[] = []
  #deadline = Infinity

  get isEmpty(): boolean {
    return this.#held.length === 0
  }

  /** Takes a place, or waits for one in the order of arrival; refuses after WAIT_MAX_MS. */
  take(policy: Policy, key: string): Promise<void> | undefined {
    const { RATE_IP_IN_FLIGHT: ip, RATE_TOKEN_IN_FLIGHT: token } = env()
    const max = {
      ip,
      token,
      export: EXPORTS_MAX,
      heavy: HEAVY_MAX,
      heavyOfAll: HEAVY_OF_ALL_MAX,
    }[policy]
    if (max === 0) return
    const wanted = { name: `${policy} ${policy === 'ip' ? networkOf(key) : key}`, max }
    if (!gateOf(wanted.name).tryEnter(max)) return this.#waitFor(wanted)
    this.#held.push(wanted)
  }

  async #waitFor(wanted: { name: string; max: number }): Promise<void> {
    // One token's queue must not use up the places of other tokens at the same address.
    const before = this.#held
    this.release()
    this.#deadline = Math.min(this.#deadline, performance.now() + WAIT_MAX_MS)
    for (const place of [wanted, ...before]) {
      await enterGate(place.name, place.max, this.#deadline)
      this.#held.push(place)
    }
  }

  release(): void {
    const held = this.#held
    this.#held = []
    for (const { name } of held) leaveGate(name)
  }
}
