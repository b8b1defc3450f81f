import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { db, disconnect } from '#lib/base/db/client.ts'
import { CHANNEL, heardFromOthers, onWake, type Topic, wake, wakeHere } from '#lib/base/db/wake.ts'
import { env } from '#lib/base/env.ts'
import { inOwnDatabase } from '#lib/testing/stage.ts'

inOwnDatabase()

let other: Client
let heard: string[]
beforeEach(async () => {
  heard = []
  other = new Client({ connectionString: env().DATABASE_URL })
  await other.connect()
  other.on('notification', ({ payload = '' }) => heard.push(payload))
  await other.query(`LISTEN ${CHANNEL}`)
})
afterEach(() => other.end())

const topicsOf = (message: string) => message.split(' ').at(-1)?.split(',').toSorted()

function count(topic: Topic) {
  const woken = { times: 0, stop: () => {} }
  woken.stop = onWake(topic, () => {
    woken.times++
  })
  return woken
}

test('a wake in this process reaches the workers of its topic at once', () => {
  const refunds = count('refunds')
  const charges = count('charges')
  wake('refunds')
  expect([refunds.times, charges.times]).toEqual([1, 0])
  refunds.stop()
  wake('refunds')
  expect(refunds.times).toBe(1)
  charges.stop()
})

test('a wake is sent to other processes', async () => {
  wake('withdrawals')
  await expect.poll(() => heard.flatMap(topicsOf), { timeout: 10_000 }).toContain('withdrawals')
})

test('a hundred wakes are sent in at most two notifications with each topic once', async () => {
  for (let count = 0; count < 100; count++) wake(count % 2 ? 'charges' : 'deliveries')
  await expect.poll(() => heard.flatMap(topicsOf), { timeout: 10_000 }).toContain('deliveries')
  wake('refunds')
  await expect.poll(() => heard.flatMap(topicsOf), { timeout: 10_000 }).toContain('refunds')
  const before = heard.filter(message => !topicsOf(message)?.includes('refunds'))
  expect(before.length).toBeLessThanOrEqual(2)
  expect(topicsOf(before.at(-1) ?? '')).toEqual(['charges', 'deliveries'])
})

test('notifications of others wake this process; its own do not, and none are sent on', async () => {
  const charges = count('charges')
  wake('charges')
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThan(0)
  const own = heard.find(message => topicsOf(message)?.includes('charges')) ?? ''
  heardFromOthers(own)
  expect(charges.times).toBe(1)
  heardFromOthers('somebody-else charges,refunds')
  expect(charges.times).toBe(2)
  wakeHere('charges')
  expect(charges.times).toBe(3)
  charges.stop()
  await other.query('SELECT 1')
  expect(heard.filter(message => message !== own)).toEqual([])
})

test('after disconnecting, a pending wake opens no new connection', async () => {
  await db().$queryRaw`SELECT 1`
  wake('charges')
  await disconnect()
  const countOthers = async () => {
    const { rows } = await other.query(
      `SELECT count(*)::int AS many FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'`,
    )
    return rows[0].many
  }
  await expect.poll(countOthers, { timeout: 10_000 }).toBe(0)
  await new Promise(done => setTimeout(done, 100))
  expect(await countOthers()).toBe(0)
})
