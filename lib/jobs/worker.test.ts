import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { expectBalancedBooks, makeDatabase, makeMerchant, openCharge } from '#e2e/stage.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { supplyEnv } from '#lib/env.ts'
import { startWorker, type Worker } from '#lib/jobs/worker.ts'

// A worker takes whatever is due, so these tests need a database that no other test works in.
let merchant: Account
const workers: Worker[] = []
beforeAll(async () => {
  supplyEnv({ DATABASE_URL: await makeDatabase() })
  merchant = await makeMerchant()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
})
afterAll(async () => {
  await expectBalancedBooks(merchant.id)
  await disconnect()
})

function start(): Worker {
  const worker = startWorker()
  workers.push(worker)
  return worker
}

/** Opens a charge whose time is up, by the database's clock. */
async function openOverdue(): Promise<string> {
  const { id } = await openCharge(merchant)
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now()
    WHERE id = ${id}::uuid`
  return id
}

const heartbeats = () => db().workerHeartbeat.findMany()
const statusOf = async (id: string) =>
  (await db().charge.findFirst({ where: { id }, select: { status: true } }))?.status
const eventsOf = (id: string) =>
  db().event.findMany({ where: { subjectId: id }, select: { type: true } })

describe('a worker', () => {
  test('leaves a heartbeat at once, and takes it away when it is stopped', async () => {
    const worker = start()
    await expect.poll(heartbeats).toHaveLength(1)
    expect((await heartbeats())[0]).toMatchObject({ pid: process.pid })
    await worker.stop()
    expect(await heartbeats()).toEqual([])
  })

  test('takes away what killed workers left behind a day ago, and nothing younger', async () => {
    const old = await db().workerHeartbeat.createManyAndReturn({
      data: [23, 25].map(hours => ({
        id: crypto.randomUUID(),
        host: `${hours} hours`,
        pid: 1,
        beatAt: new Date(Date.now() - hours * 3_600_000),
      })),
    })
    start()
    const hosts = async () => (await heartbeats()).map(({ host }) => host)
    await expect.poll(hosts).not.toContain('25 hours')
    expect(await hosts()).toContain('23 hours')
    await db().workerHeartbeat.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } })
  })

  test('expires a charge whose time is up, tells of it once, and leaves the others', async () => {
    const young = await openCharge(merchant)
    const overdue = await openOverdue()
    start()
    await expect.poll(() => statusOf(overdue), { timeout: 5_000 }).toBe('expired')
    expect(await eventsOf(overdue)).toEqual([{ type: 'transaction.expired' }])
    expect(await statusOf(young.id)).toBe('pending')
    expect(await eventsOf(young.id)).toEqual([])
  })

  test('sees within about a second what falls due while it waits', async () => {
    start()
    await expect.poll(heartbeats).toHaveLength(1)
    const overdue = await openOverdue()
    await expect.poll(() => statusOf(overdue), { timeout: 2_000 }).toBe('expired')
  })

  test('goes on after a run that failed, with its heartbeat in place', async () => {
    const overdue = await openOverdue()
    await db().$executeRaw`ALTER TABLE charges RENAME TO charges_away`
    start()
    await expect.poll(heartbeats).toHaveLength(1)
    await new Promise(done => setTimeout(done, 300))
    await db().$executeRaw`ALTER TABLE charges_away RENAME TO charges`
    expect(await statusOf(overdue)).toBe('pending')
    await expect.poll(() => statusOf(overdue), { timeout: 5_000 }).toBe('expired')
    expect(await heartbeats()).toHaveLength(1)
  })

  test('stops in the middle of its work, and loses nothing of it', async () => {
    const overdue = await Promise.all(Array.from({ length: 400 }, openOverdue))
    const left = () =>
      db().charge.count({ where: { id: { in: overdue }, status: { not: 'expired' } } })
    const first = start()
    await expect.poll(left, { interval: 5 }).toBeLessThan(400)
    await first.stop()
    expect(await left()).toBeGreaterThan(0)
    start()
    await expect.poll(left, { timeout: 10_000 }).toBe(0)
  })
})

test('three workers at once expire each charge once', async () => {
  const overdue = await Promise.all(Array.from({ length: 250 }, openOverdue))
  for (let count = 0; count < 3; count++) start()
  await expect.poll(heartbeats).toHaveLength(3)
  const left = () => db().charge.count({ where: { id: { in: overdue }, status: 'pending' } })
  await expect.poll(left, { timeout: 20_000 }).toBe(0)
  const told = await db().event.groupBy({
    by: ['subjectId'],
    where: { subjectId: { in: overdue } },
    _count: true,
  })
  expect(told).toHaveLength(250)
  expect(told.filter(({ _count }) => _count !== 1)).toEqual([])
  const taken = await db().charge.aggregate({
    where: { id: { in: overdue } },
    _max: { attempts: true },
  })
  expect(taken._max.attempts).toBe(1)
})
