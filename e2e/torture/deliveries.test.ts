import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import {
  addEndpoint,
  createPaidCharge,
  deliveriesOf,
  makeRetriesDue,
} from '#lib/testing/deliveries.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { openReceiver, type Received, type Receiver, status } from '#lib/testing/receiver.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import {
  LEASE_SECONDS,
  startWorkerProcess,
  type WorkerProcess,
} from '#lib/testing/worker-process.ts'
import { listEvents } from '#lib/webhooks/endpoints.ts'
import type { EventRow } from '#lib/webhooks/events.ts'
import { ATTEMPTS_PER_URL_MAX } from '#lib/webhooks/queue.ts'

const random = new Random(chooseSeed(), 0)

inOwnDatabase()

const KILL_COUNT = pickSize(1, 20)
const DELIVERY_MAX_MS = (LEASE_SECONDS + 30) * 1_000

let merchant: Account
let receiver: Receiver
const workers: WorkerProcess[] = []
beforeEach(async () => {
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.kill()
  await receiver.close()
  await expectBalancedLedger(merchant.id)
})

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess()
  workers.push(worker)
  return worker
}

/** Locks the table of attempts, so that a worker that stores an attempt waits. */
async function lockAttempts(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  await client.query('BEGIN; LOCK TABLE delivery_attempts IN ACCESS EXCLUSIVE MODE')
  return () => client.end()
}

const countClaimed = () => db().deliveryQueue.count({ where: { lease: { not: null } } })
const countWaitingForLock = async () => {
  const [row] = await db().$queryRaw<{ waiting: number }[]>`
    SELECT count(*)::int AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return row?.waiting
}
const readStatuses = async () =>
  new Set((await deliveriesOf(merchant)).map(delivery => delivery.status))
const expectAllDelivered = () =>
  expect
    .poll(readStatuses, { timeout: DELIVERY_MAX_MS, interval: 100 })
    .toEqual(new Set(['delivered']))

/** Expects every event to have arrived, and all calls with one id to have the same bytes. */
function expectAllReceived(calls: Received[], ids: string[]): Map<string, string[]> {
  const texts = new Map<string, string[]>()
  for (const { headers, text } of calls) {
    const id = String(headers['webhook-id'])
    texts.set(id, [...(texts.get(id) ?? []), text])
  }
  expect([...texts.keys()].toSorted()).toEqual(ids.toSorted())
  expect([...texts.values()].filter(textsOfEvent => new Set(textsOfEvent).size > 1)).toEqual([])
  return texts
}

const listEventIds = async () =>
  (await db().event.findMany({ where: { accountId: merchant.id } })).map(({ id }) => id)

describe('a worker that is killed', () => {
  test('after it claimed a delivery and before it sent anything: another worker delivers the event once', async () => {
    // The TLS handshake never completes, so nothing is sent.
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const worker = await startWorker()
    await createPaidCharge(merchant, `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`)
    await expect.poll(countClaimed, { timeout: 10_000 }).toBe(1)
    await worker.kill()
    silent.close()
    await db().$executeRaw`UPDATE deliveries SET url = ${receiver.url}`
    await startWorker()
    await expectAllDelivered()
    expect(receiver.calls).toHaveLength(1)
    expect(await deliveriesOf(merchant)).toMatchObject([{ attempts: 1 }])
  })

  test('while the receiver processes the call: the event is sent again, with the same bytes', async () => {
    const worker = await startWorker()
    receiver.respondWith(() => {})
    await createPaidCharge(merchant, receiver.url)
    await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBe(1)
    await worker.kill()
    receiver.respondWith(status(200))
    await startWorker()
    await expectAllDelivered()
    const texts = expectAllReceived(receiver.calls, await listEventIds())
    expect([...texts.values()].map(textsOfEvent => textsOfEvent.length)).toEqual([2])
  })

  test('after the receiver’s 200 and before the attempt is stored: the event is sent once more', async () => {
    const worker = await startWorker()
    let unlock = async () => {}
    receiver.respondWith(async (_received, response) => {
      unlock = await lockAttempts()
      response.writeHead(200).end()
    })
    await createPaidCharge(merchant, receiver.url)
    await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBe(1)
    await expect.poll(countWaitingForLock, { timeout: 10_000 }).toBe(1)
    await worker.kill()
    // The killed worker's backend would still execute the waiting statement.
    await db().$executeRaw`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await unlock()
    receiver.respondWith(status(200))
    await startWorker()
    await expectAllDelivered()
    const texts = expectAllReceived(receiver.calls, await listEventIds())
    expect([...texts.values()].map(textsOfEvent => textsOfEvent.length)).toEqual([2])
  })
})

test('a worker that is stopped releases a delivery in progress and exits within 10 s', async () => {
  const heartbeats = await db().workerHeartbeat.count()
  const worker = await startWorker()
  receiver.respondWith(() => {})
  await createPaidCharge(merchant, receiver.url)
  await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBe(1)
  const began = Date.now()
  expect(await worker.stop()).toBe(0)
  expect(Date.now() - began).toBeLessThan(10_000)
  expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'pending', attempts: 0 }])
  expect(await countClaimed()).toBe(0)
  expect(await db().workerHeartbeat.count()).toBe(heartbeats)
})

test(`${KILL_COUNT} workers are killed at any moment: every event arrives, and few arrive twice`, async () => {
  const began = Date.now()
  receiver.respondWith((_received, response) => setTimeout(() => response.writeHead(200).end(), 20))
  for (let kill = 0; kill < KILL_COUNT; kill++) {
    const worker = await startWorker()
    const before = receiver.calls.length
    await Promise.all(Array.from({ length: 30 }, () => createPaidCharge(merchant, receiver.url)))
    await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBeGreaterThan(before)
    await sleep(random.fraction() * 200)
    await worker.kill()
  }
  await startWorker()
  await expectAllDelivered()
  const ids = await listEventIds()
  const texts = expectAllReceived(receiver.calls, ids)
  const repeatedCalls = [...texts.values()].reduce(
    (sum, textsOfEvent) => sum + textsOfEvent.length - 1,
    0,
  )
  recordFigures('killed workers', {
    kills: KILL_COUNT,
    events: ids.length,
    'delivered again': repeatedCalls,
    took: formatSecondsSince(began),
  })
  expect(repeatedCalls).toBeLessThanOrEqual(KILL_COUNT * ATTEMPTS_PER_URL_MAX)
}, 600_000)

test('a receiver that was down gets every event once it is back', async () => {
  const downMs = pickSize(2_000, 30_000)
  const began = Date.now()
  const port = Number(new URL(receiver.url).port)
  await addEndpoint(merchant, receiver.url)
  await startWorker()
  await createPaidCharge(merchant)
  await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBe(1)
  const callsBefore = receiver.calls
  await receiver.close()
  const isDown = () => Date.now() - began < downMs
  while (isDown()) {
    await createPaidCharge(merchant)
    await sleep(downMs / 40)
  }
  receiver = await openReceiver(undefined, port)
  // Attempts that are due minutes later are made due now, and again those that fail meanwhile.
  await expect
    .poll(
      async () => {
        await makeRetriesDue()
        return readStatuses()
      },
      { timeout: DELIVERY_MAX_MS, interval: 1_000 },
    )
    .toEqual(new Set(['delivered']))
  const events = await listAllEvents(merchant.id)
  expect(events.map(({ sequence }) => Number(sequence))).toEqual(
    events.map((_, index) => index + 1),
  )
  expectAllReceived(
    [...callsBefore, ...receiver.calls],
    events.map(({ id }) => id),
  )
  recordFigures('a receiver that was down', {
    away: `${downMs / 1_000} s`,
    events: events.length,
    'all delivered after': formatSecondsSince(began),
  })
}, 300_000)

async function listAllEvents(accountId: string): Promise<EventRow[]> {
  const events: EventRow[] = []
  for (let after = 0; ; ) {
    const { rows, nextCursor } = await listEvents(accountId, 'test', after, 1_000)
    if (rows.length === 0) return events
    events.push(...rows)
    after = nextCursor ?? after
  }
}
