import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { watchClock } from '#lib/db/clock.ts'
import { beginAuthenticator, confirmAuthenticator, consumeAppCode } from '#lib/people/factors.ts'
import { addEndpoint, createPaidCharge, deliverDue } from '#lib/testing/deliveries.ts'
import { inOwnDatabase, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { followLog } from '#lib/testing/log-tail.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { startWorkerProcess } from '#lib/testing/worker-process.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'
import { sendTestEvent } from '#lib/webhooks/test-event.ts'

inOwnDatabase()

let merchant: Account
let receiver: Receiver
beforeEach(async () => {
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(() => receiver.close())

/** Works as a process whose clock is slow. */
async function runSlow<T>(byMs: number, work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['Date'] })
  const realNow = performance.timeOrigin + performance.now()
  vi.setSystemTime(realNow - byMs)
  try {
    return await work()
  } finally {
    vi.useRealTimers()
  }
}

/** Ten minutes are more than receivers tolerate. */
const runTenMinutesSlow = <T>(work: () => Promise<T>) => runSlow(600_000, work)

/** Watches the clock of this process until it is measured. */
async function measure() {
  const watching = watchClock({ serves: true })
  await expect.poll(() => db().processClock.count({ where: { pid: process.pid } })).toBe(1)
  return watching
}

function verifyCall(secret: string): void {
  const [call] = receiver.calls
  const headers = call?.headers as Record<string, string>
  for (const Verifier of [Webhook, Svix]) new Verifier(secret).verify(call?.text ?? '', headers)
}

test('a worker with a slow clock sends webhooks that receivers can verify', async () => {
  await createPaidCharge(merchant, receiver.url)
  await runTenMinutesSlow(() => deliverDue())
  verifyCall((await readResourceSecret(merchant.id, 'test')) ?? '')
})

const SAMPLES = { sampleOf: () => ({}), apiPix: () => ({}) }

test('a server with a slow clock sends test events that receivers can verify', async () => {
  const { id, secret } = await addEndpoint(merchant, receiver.url)
  await runTenMinutesSlow(() =>
    sendTestEvent(merchant.id, 'test', id, { type: 'troco.ping' }, SAMPLES),
  )
  verifyCall(secret)
})

test('a server with a slow clock accepts the code that an authenticator app shows', async () => {
  const user = { id: newId(), email: `ana-${newId()}@troco.example`, name: 'Ana' }
  await db().user.create({ data: user })
  const owner = { ...user, locale: null, sessionId: await openSessionId(user.id) }
  const { secret } = await beginAuthenticator(owner)
  const [first, second] = [generateTotp(secret), generateTotp(secret, 1)]
  await runTenMinutesSlow(() => confirmAuthenticator(owner, first))
  const consume = () => db().$transaction(tx => consumeAppCode(tx, owner.id, second))
  expect(await runTenMinutesSlow(consume)).toBe(true)
})

function shiftClock(shiftMs: number): Record<string, string> {
  const preload = new URL('shifted-clock.ts', import.meta.url).href
  return { CLOCK_SHIFT_MS: `${shiftMs}`, NODE_OPTIONS: `--import=${preload}` }
}

test('a process whose clock is more than a minute wrong does not start', async () => {
  await expect(startWorkerProcess(shiftClock(-600_000))).rejects.toThrow(
    /^The worker ended and said: The clock of this machine is (599|600) s behind the database's: synchronize both [^\n]+\n$/,
  )
})

test('a clock that is off by seconds is warned about in the log, a right one is not', async () => {
  const readLog = followLog()
  const findLines = () => readLog().match(/^.*"msg":"clock differs from the database".*$/gm) ?? []
  await (await measure()).stop()
  expect(findLines()).toEqual([])
  await (await runSlow(30_000, measure)).stop()
  const [line = '{}', ...others] = findLines()
  const { level, offsetMs } = JSON.parse(line)
  expect({ level, others }).toEqual({ level: 'warn', others: [] })
  expect(offsetMs / 1_000).toBeCloseTo(-30, -1)
})

testInTorture(
  'each line in the log of a worker names its role and host, also the warning of its clock',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troco-log-'))
    const LOG_FILE = join(folder, 'worker.log')
    const worker = await startWorkerProcess({ ...shiftClock(-30_000), LOG_FILE })
    onTestFinished(async () => {
      await worker.kill()
      rmSync(folder, { recursive: true })
    })
    const readLines = () => readFileSync(LOG_FILE, 'utf8').split('\n').slice(0, -1)
    const message = '"msg":"clock differs from the database"'
    await expect.poll(() => readLines().some(line => line.includes(message))).toBe(true)
    await worker.stop()
    const lines = readLines().map(line => JSON.parse(line))
    for (const line of lines) expect(line).toMatchObject({ role: 'worker', host: hostname() })
  },
)

test('a running process with a wrong clock is unready only if it alone is wrong', async () => {
  const api = await startApi()
  const readyz = async () => (await fetch(`${api.url}/readyz`)).json()
  const setOther = (offsetMs: number, serves: boolean) => db().$executeRaw`
    INSERT INTO process_clocks (id, host, pid, machine, serves, offset_ms)
    VALUES (${merchant.id}::uuid, 'another', 1, 'another machine', ${serves}, ${offsetMs})
    ON CONFLICT (id) DO UPDATE
    SET offset_ms = EXCLUDED.offset_ms, serves = EXCLUDED.serves, measured_at = now()`
  const watching = await runTenMinutesSlow(measure)
  const [stored] = await db().processClock.findMany()
  expect(stored).toMatchObject({ serves: true, machine: expect.stringMatching(/./) })
  expect(Number(stored?.offsetMs) / 1_000).toBeCloseTo(-600, -1)
  expect(await readyz()).toEqual({ status: 'ok' })
  await setOther(-600_000, true)
  expect(await readyz()).toEqual({ status: 'ok' })
  await setOther(0, false)
  expect(await readyz()).toEqual({ status: 'ok' })
  await setOther(0, true)
  const { status, reason } = await readyz()
  expect(status).toBe('unavailable')
  expect(reason).toMatch(/^the clock is (599|600|601) s behind the database's$/)
  await watching.stop()
  await (await measure()).stop()
  expect(await readyz()).toEqual({ status: 'ok' })
  expect(await db().processClock.count({ where: { pid: process.pid } })).toBe(0)
  await api.close()
})
