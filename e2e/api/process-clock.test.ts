import { Webhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { watchClock } from '#lib/base/db/clock-watch.ts'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import {
  beginAuthenticator,
  confirmAuthenticator,
  consumeAppCode,
} from '#lib/services/people/authenticator.ts'
import { readResourceSecret } from '#lib/services/webhooks/secrets.ts'
import { sendTestEvent } from '#lib/services/webhooks/test-event.ts'
import { addEndpoint, createPaidCharge, deliverDue } from '#lib/testing/deliveries.ts'
import { inOwnDatabase, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { startWorkerProcess } from '#lib/testing/worker-process.ts'

inOwnDatabase()

let merchant: Account
let receiver: Receiver
beforeEach(async () => {
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(() => receiver.close())

/** Works as a process whose clock is ten minutes slow, which is more than receivers tolerate. */
async function runTenMinutesSlow<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['Date'] })
  const realNow = performance.timeOrigin + performance.now()
  vi.setSystemTime(realNow - 600_000)
  try {
    return await work()
  } finally {
    vi.useRealTimers()
  }
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

test('a server with a slow clock sends test events that receivers can verify', async () => {
  const { id, secret } = await addEndpoint(merchant, receiver.url)
  await runTenMinutesSlow(() => sendTestEvent(merchant.id, 'test', id, 'troco.ping', () => ({})))
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

test('a process whose clock is more than a minute wrong does not start', async () => {
  const preload = new URL('../torture/shifted-clock.ts', import.meta.url).href
  const settings = { CLOCK_SHIFT_MS: '-600000', NODE_OPTIONS: `--import=${preload}` }
  await expect(startWorkerProcess(settings)).rejects.toThrow(
    /^The worker ended and said: The clock of this machine is (599|600) s behind the database's: synchronize both [^\n]+\n$/,
  )
})

test('a running process with a wrong clock is unready only if it alone is wrong', async () => {
  const api = await startApi()
  const readyz = async () => (await fetch(`${api.url}/readyz`)).json()
  const setOther = (offsetMs: number, serves: boolean) => db().$executeRaw`
    INSERT INTO process_clocks (id, host, pid, machine, serves, offset_ms)
    VALUES (${merchant.id}::uuid, 'another', 1, 'another machine', ${serves}, ${offsetMs})
    ON CONFLICT (id) DO UPDATE
    SET offset_ms = EXCLUDED.offset_ms, serves = EXCLUDED.serves, measured_at = now()`
  const measure = async () => {
    const watching = watchClock({ serves: true })
    await expect.poll(() => db().processClock.count({ where: { pid: process.pid } })).toBe(1)
    return watching
  }
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
