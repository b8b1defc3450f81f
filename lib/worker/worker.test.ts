import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { listenForWakeUps, onWake } from '#lib/db/wake.ts'
import { addEndpoint, createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import { query } from '#lib/testing/embedded.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { openReceiver, status } from '#lib/testing/receiver.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { startWorker, type Worker } from '#lib/worker/worker.ts'

// A worker claims every due row, so these tests need a database of their own.
inOwnDatabase()
let merchant: Account
const workers: Worker[] = []
beforeAll(async () => {
  merchant = await makeMerchant()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
})
afterAll(() => expectBalancedLedger(merchant.id))

function startTestWorker(): Worker {
  const worker = startWorker()
  workers.push(worker)
  return worker
}

async function openOverdueCharge(): Promise<string> {
  const { id } = await openCharge(merchant)
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now()
    WHERE id = ${id}::uuid`
  return id
}

/** Opens at most 50 at once: a slow machine could not serve more before the pool times out. */
async function openOverdueCharges(count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const batchSize = Math.min(50, count - ids.length)
    ids.push(...(await Promise.all(Array.from({ length: batchSize }, openOverdueCharge))))
  }
  return ids
}

const heartbeats = () => db().workerHeartbeat.findMany()
const statusOf = async (id: string) =>
  (await db().charge.findFirst({ where: { id }, select: { status: true } }))?.status
const eventsOf = (id: string) =>
  db().event.findMany({ where: { subjectId: id }, select: { type: true } })

describe('a worker', () => {
  test('runs every job that exists', () => {
    expect(startTestWorker().jobs.sort()).toEqual([
      'ask about ended orders',
      'ask about notices',
      'check ledgers',
      'continue connection trials',
      'deliver webhooks',
      'expire charges',
      'expire waiting withdrawals',
      'heal webhook queues',
      'index charges',
      'index late charges',
      'mail approvers',
      'prune attempt bodies',
      'prune challenges',
      'prune events',
      'prune failed mails',
      'prune gateway calls',
      'prune idempotency keys',
      'prune request counts',
      'prune sessions',
      'prune sign-in attempts',
      'prune test usage',
      'read banks after a restore',
      'read disputes and returns',
      'read payments',
      'reconcile days',
      'resume endpoints',
      'rotate request log',
      'send mails',
      'send orders',
      'warn of certificates',
    ])
  })

  test('writes a heartbeat at once and deletes it when it stops', async () => {
    const worker = startTestWorker()
    await expect.poll(heartbeats).toHaveLength(1)
    expect((await heartbeats())[0]).toMatchObject({ pid: process.pid })
    await worker.stop()
    expect(await heartbeats()).toEqual([])
  })

  test('deletes heartbeats older than a day, and no newer ones', async () => {
    const old = await db().workerHeartbeat.createManyAndReturn({
      data: [23, 25].map(hours => ({
        id: crypto.randomUUID(),
        host: `${hours} hours`,
        pid: 1,
        beatAt: new Date(Date.now() - hours * 3_600_000),
      })),
    })
    startTestWorker()
    const hosts = async () => (await heartbeats()).map(({ host }) => host)
    await expect.poll(hosts).not.toContain('25 hours')
    expect(await hosts()).toContain('23 hours')
    await db().workerHeartbeat.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } })
  })

  test('expires an overdue charge with one event, and leaves other charges pending', async () => {
    const young = await openCharge(merchant)
    const overdue = await openOverdueCharge()
    startTestWorker()
    await expect.poll(() => statusOf(overdue), { timeout: 5_000 }).toBe('expired')
    expect(await eventsOf(overdue)).toEqual([{ type: 'transaction.expired' }])
    expect(await statusOf(young.id)).toBe('pending')
    expect(await eventsOf(young.id)).toEqual([])
  })

  test('polls for rows that become due while it waits', async () => {
    startTestWorker()
    await expect.poll(heartbeats).toHaveLength(1)
    const overdue = await openOverdueCharge()
    await expect.poll(() => statusOf(overdue), { timeout: 5_000 }).toBe('expired')
  })

  test('continues after a failed run, with its heartbeat still there', async () => {
    const overdue = await openOverdueCharge()
    await runAsOwner('ALTER TABLE charges RENAME TO charges_away')
    startTestWorker()
    await expect.poll(heartbeats).toHaveLength(1)
    await new Promise(resolve => setTimeout(resolve, 300))
    await runAsOwner('ALTER TABLE charges_away RENAME TO charges')
    expect(await statusOf(overdue)).toBe('pending')
    await expect.poll(() => statusOf(overdue), { timeout: 5_000 }).toBe('expired')
    expect(await heartbeats()).toHaveLength(1)
  })

  test('can stop during its work without losing charges', async () => {
    const overdue = await openOverdueCharges(1_600)
    const countPending = () =>
      db().charge.count({ where: { id: { in: overdue }, status: { not: 'expired' } } })
    const first = startTestWorker()
    await expect.poll(countPending, { interval: 5 }).toBeLessThan(1_600)
    await first.stop()
    expect(await countPending()).toBeGreaterThan(0)
    startTestWorker()
    await expect.poll(countPending, { timeout: 10_000 }).toBe(0)
  })
})

test('three concurrent workers expire each charge once', async () => {
  const overdue = await openOverdueCharges(250)
  for (let count = 0; count < 3; count++) startTestWorker()
  await expect.poll(heartbeats).toHaveLength(3)
  const countPending = () =>
    db().charge.count({ where: { id: { in: overdue }, status: 'pending' } })
  await expect.poll(countPending, { timeout: 20_000 }).toBe(0)
  const eventCounts = await db().event.groupBy({
    by: ['subjectId'],
    where: { subjectId: { in: overdue } },
    _count: true,
  })
  expect(eventCounts).toHaveLength(250)
  expect(eventCounts.filter(({ _count }) => _count !== 1)).toEqual([])
  const totals = await db().charge.aggregate({
    where: { id: { in: overdue } },
    _max: { attempts: true },
  })
  expect(totals._max.attempts).toBeLessThanOrEqual(1)
})

describe('webhooks', () => {
  test("are sent to the charge's URL and the endpoints as soon as the event happens", async () => {
    const receiver = await openReceiver()
    const otherMerchant = await makeMerchant()
    await addEndpoint(otherMerchant, `${receiver.url}/endpoint`)
    startTestWorker()
    await createPaidCharge(otherMerchant, `${receiver.url}/resource`)
    await expect.poll(() => receiver.calls.length, { timeout: 5_000 }).toBe(2)
    expect(receiver.calls.map(({ path }) => path).toSorted()).toEqual(['/endpoint', '/resource'])
    const delivered = { status: 'delivered', attempts: 1 }
    await expect.poll(() => deliveriesOf(otherMerchant)).toMatchObject([delivered, delivered])
    await receiver.close()
  })

  test('continue while one receiver hangs', async () => {
    const hangingReceiver = await openReceiver(() => {})
    const receiver = await openReceiver()
    const otherMerchant = await makeMerchant()
    startTestWorker()
    for (let count = 0; count < 20; count++)
      await createPaidCharge(otherMerchant, hangingReceiver.url)
    for (let count = 0; count < 20; count++) await createPaidCharge(otherMerchant, receiver.url)
    await expect.poll(() => receiver.calls.length, { timeout: 10_000 }).toBe(20)
    expect(hangingReceiver.calls).toHaveLength(4)
    await hangingReceiver.close()
    await receiver.close()
  })

  testInTorture(
    'in progress when the worker stops are released and sent by the next worker',
    async () => {
      const receiver = await openReceiver(() => {})
      const otherMerchant = await makeMerchant()
      const first = startTestWorker()
      await createPaidCharge(otherMerchant, receiver.url)
      await expect.poll(() => receiver.calls.length, { timeout: 5_000 }).toBe(1)
      const began = Date.now()
      await first.stop()
      expect(Date.now() - began).toBeLessThan(10_000)
      expect(await deliveriesOf(otherMerchant)).toMatchObject([
        { status: 'pending', lease: null, attempts: 0 },
      ])
      receiver.respondWith(status(200))
      startTestWorker()
      await expect
        .poll(() => deliveriesOf(otherMerchant), { timeout: 5_000 })
        .toMatchObject([{ status: 'delivered', attempts: 1 }])
      await receiver.close()
    },
    30_000,
  )
})

test('notifications of other processes wake a worker, also after the connection was lost', async () => {
  const stopping = new AbortController()
  const receivedTopics: string[] = []
  const unsubscribe = onWake('deliveries', () => receivedTopics.push('deliveries'))
  const listening = listenForWakeUps(stopping.signal)
  const url = env().DATABASE_URL ?? ''
  const notify = async () => {
    await query(url, "SELECT pg_notify('troco', 'somebody charges,deliveries')")
    await sleep(100)
    return receivedTopics.length
  }
  await expect.poll(notify, { timeout: 10_000 }).toBeGreaterThan(0)
  await query(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'troco listener' AND datname = current_database()`,
  )
  receivedTopics.length = 0
  await expect.poll(notify, { timeout: 20_000 }).toBeGreaterThan(0)
  stopping.abort()
  await listening
  unsubscribe()
}, 40_000)
