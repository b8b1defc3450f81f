import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

const PASSWORD = 'p%ssw0rd-of-the-limits'
/** Maximum for one batch of calls: a Redis that hangs delays a batch once at most. */
const RESPONSE_MAX_MS = 20_000
const POLL_OPTIONS = { timeout: 40_000, interval: 200 }

/**
 * Program of a counter process: counts as the product does, on request by message. Exits when the
 * channel closes.
 */
const PROGRAM = `
  import { countFailedBearer, consumeAllowance } from '#lib/http/rate-limit.ts'
  process.on('message', async ({ what, key, calls }) => {
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: calls }, async () => {
      try {
        await (what === 'bearer' ? countFailedBearer(key) : consumeAllowance('token', key))
        return true
      } catch (error) {
        if (error.code !== 'too_many_requests' || !(error.retryAfterS >= 1)) throw error
        return false
      }
    }))
    const passed = answers.filter(Boolean).length
    process.send({ passed, tookMs: performance.now() - began })
  })
`

interface CounterProcess {
  child: ChildProcess
  /** Closes the channel; resolves to the exit code and the signal. */
  disconnect: () => Promise<unknown>
  findLogLines: (text: string) => string[]
  count: (limiter: 'bearer' | 'token', key: string, calls: number) => Promise<CountResult>
}

interface CountResult {
  passed: number
  tookMs: number
}

let program: string
let folder: string
let port: number
let redis: ChildProcess
const counters: CounterProcess[] = []

beforeAll(async () => {
  const executable = await findProgram('redis-server', ['redis-server', 'valkey-server'])
  if (!executable) throw new Error('There is no Redis: install the package redis-server')
  program = executable
  folder = mkdtempSync(join(tmpdir(), 'troco-redis-'))
  port = await findFreePort()
  await startRedis()
}, 300_000)

afterAll(async () => {
  for (const { child } of counters) child.kill()
  await stopRedis()
  rmSync(folder, { recursive: true, force: true })
})

async function startRedis(): Promise<void> {
  const flags = `--port ${port} --bind 127.0.0.1 --appendonly no --dir ${folder}`.split(' ')
  redis = spawn(program, [...flags, '--save', '', '--requirepass', PASSWORD], { stdio: 'ignore' })
  await vi.waitFor(() => withRedis(client => client.ping()), POLL_OPTIONS)
}

async function stopRedis(): Promise<void> {
  if (!redis || redis.exitCode !== null || redis.signalCode !== null) return
  const ended = once(redis, 'exit')
  redis.kill('SIGKILL')
  await ended
}

const redisUrl = (password = PASSWORD) =>
  `redis://default:${encodeURIComponent(password)}@127.0.0.1:${port}/2`

async function withRedis<T>(work: (client: ReturnType<typeof createClient>) => Promise<T>) {
  const options = { url: redisUrl(), socket: { reconnectStrategy: false as const } }
  const client: ReturnType<typeof createClient> = createClient(options)
  client.on('error', () => {})
  await client.connect()
  return work(client).finally(() => client.destroy())
}

function startCounter(settings: Record<string, string> = {}): CounterProcess {
  const logFile = join(folder, `${newId()}.log`)
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...inheritedEnv(),
      LOG_FILE: logFile,
      REDIS_URL: redisUrl(),
      RATE_TOKEN_PER_SECOND: '1',
      RATE_TOKEN_BURST: '40',
      RATE_FAILED_BEARERS_PER_MINUTE: '30',
      ...settings,
    },
  })
  const ended = once(child, 'exit')
  const counter: CounterProcess = {
    child,
    disconnect: () => {
      child.disconnect()
      return ended
    },
    findLogLines: text =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter(line => line.includes(text)),
    count: async (limiter, key, calls) => {
      const received = new Promise<CountResult>(resolve => {
        child.once('message', message => resolve(message as CountResult))
      })
      child.send({ what: limiter, key, calls })
      const exited = ended.then(() => Promise.reject(new Error('The process ended')))
      return Promise.race([received, exited])
    },
  }
  counters.push(counter)
  return counter
}

/** Returns how many calls two processes together let pass under a new key. */
async function countInBoth(
  a: CounterProcess,
  b: CounterProcess,
  limiter: 'bearer' | 'token',
): Promise<number> {
  const key = newId()
  const counted = await Promise.all([a.count(limiter, key, 50), b.count(limiter, key, 50)])
  for (const { tookMs } of counted) expect(tookMs).toBeLessThan(RESPONSE_MAX_MS)
  return counted[0].passed + counted[1].passed
}

async function waitUntilShared(a: CounterProcess, b: CounterProcess): Promise<void> {
  await vi.waitFor(async () => expect(await countInBoth(a, b, 'bearer')).toBe(30), POLL_OPTIONS)
}

async function expectKeysToVanish(): Promise<void> {
  const ttls = await withRedis(async client => {
    const keys = await client.keys('*')
    return Promise.all(keys.map(async key => [key, await client.ttl(key)] as const))
  })
  expect(ttls.length).toBeGreaterThan(0)
  for (const [key, ttl] of ttls) {
    expect(key).toMatch(/^troco:(bearer|token|token-burst):[\w-]+$/)
    // -2: expired meanwhile; -1: a key without an expiry.
    expect(ttl).not.toBe(-1)
  }
}

const UNAVAILABLE_MESSAGE = 'Redis unavailable'
const RECONNECTED_MESSAGE = 'Redis reconnected'

const CLEAN_EXIT = [0, null]

test('two processes share a limit in Redis; each counts alone while Redis is down or hangs', async () => {
  const [a, b] = [startCounter(), startCounter()]
  const countLines = (text: string) => [a, b].map(({ findLogLines }) => findLogLines(text).length)
  const countUnavailable = () =>
    countLines(UNAVAILABLE_MESSAGE).map(
      (unavailable, index) => unavailable - (countLines(RECONNECTED_MESSAGE)[index] ?? 0),
    )

  await waitUntilShared(a, b)
  await vi.waitFor(async () => {
    const began = Date.now()
    const passed = await countInBoth(a, b, 'token')
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(40 + 2 + (Date.now() - began) / 1_000)
  }, POLL_OPTIONS)
  await expectKeysToVanish()

  await stopRedis()
  expect(await countInBoth(a, b, 'bearer')).toBe(60)
  expect(await countInBoth(a, b, 'token')).toBeGreaterThanOrEqual(80)
  expect(countUnavailable()).toEqual([1, 1])
  await startRedis()
  await waitUntilShared(a, b)
  expect(countUnavailable()).toEqual([0, 0])
  expect(Math.min(...countLines(RECONNECTED_MESSAGE))).toBeGreaterThanOrEqual(1)

  redis.kill('SIGSTOP')
  expect(await countInBoth(a, b, 'bearer')).toBe(60)
  for (let round = 0; round < 10; round++) await countInBoth(a, b, 'token')
  expect(countUnavailable()).toEqual([1, 1])
  redis.kill('SIGCONT')
  await waitUntilShared(a, b)
  expect(countUnavailable()).toEqual([0, 0])

  for (const { disconnect, findLogLines } of [a, b]) {
    expect(findLogLines(PASSWORD)).toEqual([])
    expect(findLogLines(encodeURIComponent(PASSWORD))).toEqual([])
    expect(await disconnect()).toEqual(CLEAN_EXIT)
  }
}, 180_000)

test.each(
  pickInTurn<[string, () => Record<string, string>, string]>([
    ['a wrong password', () => ({ REDIS_URL: redisUrl('not-the-password') }), 'WRONGPASS'],
    ['an invalid escape', () => ({ REDIS_URL: `redis://:%zz@127.0.0.1:${port}` }), 'URIError'],
    [
      'a refused connection',
      () => ({ REDIS_URL: 'redis://:not-the-password@127.0.0.1:1' }),
      'ECONNREFUSED',
    ],
  ]),
)('%s: counts in memory, logs once and does not keep the process alive', async (...parameters) => {
  const [, settings, errorText] = parameters
  const counter = startCounter(settings())
  await vi.waitFor(async () => {
    expect((await counter.count('bearer', newId(), 50)).passed).toBe(30)
    expect(counter.findLogLines(UNAVAILABLE_MESSAGE)).toHaveLength(1)
  }, POLL_OPTIONS)
  const key = newId()
  expect((await counter.count('token', key, 50)).passed).toBeGreaterThanOrEqual(40)
  expect(counter.findLogLines(UNAVAILABLE_MESSAGE).join()).toContain(errorText)
  expect(counter.findLogLines('not-the-password')).toEqual([])
  expect(await counter.disconnect()).toEqual(CLEAN_EXIT)
})

test('a host that accepts connections and never responds delays neither calls nor exit', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const address = silent.address()
  const REDIS_URL = `redis://127.0.0.1:${typeof address === 'object' && address?.port}`
  const counter = startCounter({ REDIS_URL })
  for (let round = 0; round < 5; round++) {
    const { passed, tookMs } = await counter.count('bearer', newId(), 50)
    expect(passed).toBe(30)
    expect(tookMs).toBeLessThan(RESPONSE_MAX_MS)
  }
  await vi.waitFor(
    () => expect(counter.findLogLines(UNAVAILABLE_MESSAGE).join()).toContain('ETIMEDOUT'),
    POLL_OPTIONS,
  )
  expect(await counter.disconnect()).toEqual(CLEAN_EXIT)
  silent.close()
})

test('without limits Redis is not contacted', async () => {
  const { disconnect, count, findLogLines } = startCounter({
    REDIS_URL: 'redis://127.0.0.1:1',
    RATE_TOKEN_PER_SECOND: '0',
    RATE_IP_PER_SECOND: '0',
    RATE_FAILED_BEARERS_PER_MINUTE: '0',
  })
  expect((await count('bearer', newId(), 50)).passed).toBe(50)
  expect((await count('token', newId(), 50)).passed).toBe(50)
  expect(await disconnect()).toEqual(CLEAN_EXIT)
  expect(() => findLogLines(UNAVAILABLE_MESSAGE)).toThrow('ENOENT')
})
