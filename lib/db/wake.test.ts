import { Client } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { env } from '#lib/core/settings.ts'
import { db, disconnect, Prisma } from '#lib/db/client.ts'
import {
  CHANNEL,
  checkPresence,
  handleNotification,
  hidePresence,
  isGoneSql,
  onWake,
  presence,
  showPresence,
  type Topic,
  wake,
  wakeLocal,
} from '#lib/db/wake.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

let listener: Client
let notifications: string[]
beforeEach(async () => {
  notifications = []
  listener = new Client({ connectionString: env().DATABASE_URL })
  await listener.connect()
  listener.on('notification', ({ payload = '' }) => notifications.push(payload))
  await listener.query(`LISTEN ${CHANNEL}`)
})
afterEach(() => listener.end())

const topicsOf = (message: string) => message.split(' ').at(-1)?.split(',').toSorted()

function countWakes(topic: Topic) {
  const counter = { times: 0, stop: () => {} }
  counter.stop = onWake(topic, () => {
    counter.times++
  })
  return counter
}

test('a wake in this process reaches the workers of its topic at once', () => {
  const refunds = countWakes('orders')
  const charges = countWakes('charges')
  wake('orders')
  expect([refunds.times, charges.times]).toEqual([1, 0])
  refunds.stop()
  wake('orders')
  expect(refunds.times).toBe(1)
  charges.stop()
})

test('a wake is sent to other processes', async () => {
  wake('notices')
  await expect.poll(() => notifications.flatMap(topicsOf), { timeout: 10_000 }).toContain('notices')
})

test('a hundred wakes are sent in at most two notifications with each topic once', async () => {
  for (let count = 0; count < 100; count++) wake(count % 2 ? 'charges' : 'deliveries')
  await expect
    .poll(() => notifications.flatMap(topicsOf), { timeout: 10_000 })
    .toContain('deliveries')
  wake('orders')
  await expect.poll(() => notifications.flatMap(topicsOf), { timeout: 10_000 }).toContain('orders')
  const before = notifications.filter(message => !topicsOf(message)?.includes('orders'))
  expect(before.length).toBeLessThanOrEqual(2)
  expect(topicsOf(before.at(-1) ?? '')).toEqual(['charges', 'deliveries'])
})

test('notifications of other processes wake this process, its own do not, and none is forwarded', async () => {
  const charges = countWakes('charges')
  wake('charges')
  await expect.poll(() => notifications.length, { timeout: 10_000 }).toBeGreaterThan(0)
  const own = notifications.find(message => topicsOf(message)?.includes('charges')) ?? ''
  handleNotification(own)
  expect(charges.times).toBe(1)
  handleNotification('somebody-else charges,refunds')
  expect(charges.times).toBe(2)
  wakeLocal('charges')
  expect(charges.times).toBe(3)
  charges.stop()
  await listener.query('SELECT 1')
  expect(notifications.filter(message => message !== own)).toEqual([])
})

test('after disconnecting, a pending wake opens no new connection', async () => {
  await db().$queryRaw`SELECT 1`
  wake('charges')
  await disconnect()
  const countOthers = async () => {
    const { rows } = await listener.query(
      `SELECT count(*)::int AS many FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'`,
    )
    return rows[0].many
  }
  await expect.poll(countOthers, { timeout: 10_000 }).toBe(0)
  await new Promise(resolve => setTimeout(resolve, 100))
  expect(await countOthers()).toBe(0)
})

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  return client
}

async function isGone(number: number | null): Promise<boolean> {
  const condition = isGoneSql(Prisma.sql`number`)
  const [row] = await db().$queryRaw<{ isGone: boolean }[]>`
    SELECT ${condition} AS "isGone" FROM (SELECT ${number}::integer AS number) AS process`
  return row?.isGone ?? false
}

test('a process is seen while one of its connections lives, and never takes itself for another', async () => {
  expect(presence()).toBeNull()
  const [first, second] = [await connect(), await connect()]
  await showPresence(first)
  const number = presence()
  expect(number).not.toBeNull()
  await showPresence(second)
  await first.end()
  await checkPresence()
  expect([presence(), await isGone(number)]).toEqual([number, false])
  await second.end()
  await vi.waitFor(async () => {
    await checkPresence()
    expect(presence()).toBeNull()
  })
  expect(await isGone(number)).toBe(false)
})

test('another process is gone when its connection ends', async () => {
  const own = await connect()
  await showPresence(own)
  const { rows } = await own.query(
    `SELECT classid::integer AS class FROM pg_locks WHERE locktype = 'advisory' AND objid = $1`,
    [presence()],
  )
  const other = await connect()
  await other.query('SELECT pg_advisory_lock_shared($1, 7)', [rows[0].class])
  expect([await isGone(7), await isGone(8), await isGone(null)]).toEqual([false, true, false])
  await other.end()
  await expect.poll(() => isGone(7)).toBe(true)
  hidePresence()
  await own.end()
})
