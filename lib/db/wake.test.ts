import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { env } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { CHANNEL, handleNotification, onWake, type Topic, wake, wakeLocal } from '#lib/db/wake.ts'
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
