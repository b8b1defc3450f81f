import { Client } from 'pg'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { readAsWorker } from '#lib/testing/deliveries.ts'
import { seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import { makeDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { finishDelivery } from '#lib/webhooks/deliver.ts'
import type { DueDelivery } from '#lib/webhooks/queue.ts'

const TABLES = ['deliveries', 'events', 'delivery_queues']

// Statistics of a table outlive its rows, so each test has a database without any.
const sharedUrl = env().DATABASE_URL ?? ''
beforeEach(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: await makeDatabase() })
  for (const table of TABLES)
    await runAsOwner(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  // Its check is a statement of PostgreSQL's own, whose plan depends on statistics.
  await runAsOwner(`ALTER TABLE delivery_attempts
    DROP CONSTRAINT delivery_attempts_account_id_delivery_id_fkey`)
})
afterAll(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: sharedUrl })
})

const LEASE = '00000000-0000-4000-8000-000000000001'
/** A worker that knows nothing, and one of which 64 calls to the first hosts hang. */
const READERS = {
  new: { full_hosts: [], busy_hosts: [] },
  busy: { full_hosts: hostsTo(64), busy_hosts: hostsTo(64) },
}

function hostsTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `h${index + 1}.test`)
}

/** Buffers of reading the queue of an account, with the plans that the client has; it is rolled back. */
async function measureReading(
  client: Client,
  accountId: string,
  reader: keyof typeof READERS,
): Promise<number> {
  const queue = {
    account_id: accountId,
    held: [],
    full_urls: [],
    busy_urls: [],
    ...READERS[reader],
  }
  const queues = JSON.stringify([{ ...queue, after_host: '', after_url: '0' }])
  await client.query('BEGIN')
  await client.query(
    `UPDATE delivery_queues SET lease = $1, due_at = now() + interval '1 minute' WHERE account_id = $2`,
    [LEASE, accountId],
  )
  await client.query('SELECT * FROM troco_read_deliveries($1, $2, 16, 4)', [LEASE, queues])
  await client.query('ROLLBACK; BEGIN')
  await client.query(
    `UPDATE delivery_queues SET lease = $1, due_at = now() + interval '1 minute' WHERE account_id = $2`,
    [LEASE, accountId],
  )
  const { rows } = await client.query(
    'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM troco_read_deliveries($1, $2, 16, 4)',
    [LEASE, queues],
  )
  await client.query('ROLLBACK')
  return buffersOf(rows[0])
}

function buffersOf(row: Record<string, { Plan: Record<string, number> }[]>): number {
  const plan = row['QUERY PLAN']?.[0]?.Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

/** `npm run torture` sets 100,000. */
const RECEIVER_COUNT = Number(process.env.RECEIVERS || 5_000)

test.each([['new' as const], ['busy' as const]])(
  'reading a queue with many due receivers costs as much as one with 200, for a %s worker',
  async reader => {
    const [few, many] = [await makeMerchant(), await makeMerchant()]
    await seedDueDeliveries({ accountId: few.id, count: 200 })
    await seedDueDeliveries({ accountId: many.id, count: RECEIVER_COUNT })
    for (const table of TABLES) await runAsOwner(`VACUUM ANALYZE ${table}`)
    await withClient(async client => {
      const good = await measureReading(client, few.id, reader)
      const cost = await measureReading(client, many.id, reader)
      expect(cost / good, `${cost} and ${good}`).toBeLessThan(1.5)
    })
  },
)

test('reading one URL with many due deliveries costs as much as one with 200', async () => {
  const [few, many] = [await makeMerchant(), await makeMerchant()]
  const [host, url] = [`'h1.test'`, `'https://h1.test/'`]
  await seedDueDeliveries({ accountId: few.id, count: 200, host, url })
  await seedDueDeliveries({ accountId: many.id, count: RECEIVER_COUNT, host, url })
  for (const table of TABLES) await runAsOwner(`VACUUM ANALYZE ${table}`)
  await withClient(async client => {
    for (const reader of ['new', 'busy'] as const) {
      const good = await measureReading(client, few.id, reader)
      const cost = await measureReading(client, many.id, reader)
      expect(cost / good, `${cost} and ${good}`).toBeLessThan(1.5)
    }
  })
})

testInTorture.each([
  ['one delivery', 1, 'SELECT FROM %'],
  ['deleted deliveries', 100, 'DELETE FROM %'],
])('reading costs as much with plans from statistics of %s', async (_what, count, change) => {
  const { id } = await makeMerchant()
  await seedDueDeliveries({ accountId: id, count })
  for (const table of TABLES) await runAsOwner(change.replace('%', table))
  for (const table of TABLES) await runAsOwner(`ANALYZE ${table}`)
  await withClient(async early => {
    await measureReading(early, id, 'new')
    await seedDueDeliveries({ accountId: id, count: 5_000 })
    const costs = [
      await measureReading(early, id, 'new'),
      await withClient(client => measureReading(client, id, 'new')),
    ]
    for (const table of TABLES) await runAsOwner(`VACUUM ANALYZE ${table}`)
    const good = await withClient(client => measureReading(client, id, 'new'))
    for (const cost of costs) expect(cost / good, `${cost} and ${good}`).toBeLessThan(1.5)
  })
})

/** Two per subject: the second one waits for the first one. */
const SUBJECTS = 2_500

testInTorture.each([
  ['one delivery', 1, ['ANALYZE deliveries', 'DELETE FROM deliveries']],
  ['deleted deliveries', 100, ['DELETE FROM deliveries', 'ANALYZE deliveries']],
])(
  'storing results costs as much with plans from statistics of %s',
  async (_what, count, changes) => {
    const { id: accountId } = await makeMerchant()
    await seedDueDeliveries({ accountId, count })
    for (const change of changes) await runAsOwner(change)
    await seedDueDeliveries({ accountId, count: 2 * SUBJECTS, subject: `n % ${SUBJECTS}` })
    await withClient(client => client.query(WAIT, [accountId]))
    const claimed = await readAsWorker({ id: accountId })
    const sent = await recordFinish(claimed)
    expect(await countWaiting()).toBe(SUBJECTS - claimed.length)

    const buffers = await measure(claimed, sent)
    await runAsOwner('VACUUM ANALYZE deliveries')
    const good = await measure(claimed, sent)
    expect(buffers / good, `${buffers} and ${good}`).toBeLessThan(1.5)
  },
)

const WAIT = `
  UPDATE deliveries n SET due_at = now() + interval '1 hour' WHERE n.account_id = $1
    AND n.status = 'pending'
    AND n.sequence > (SELECT max(sequence) FROM deliveries) - ${SUBJECTS}`

async function countWaiting(): Promise<number> {
  return db().delivery.count({ where: { dueAt: { gt: new Date() } } })
}

/** Delivers them. Returns the parameters of the statement about most of them, which it runs as well. */
async function recordFinish(claimed: DueDelivery[]): Promise<{ text: string; values: unknown[] }> {
  const outcome = { status: 200, headers: null, body: null, problem: null, address: null }
  const query = vi.spyOn(Client.prototype, 'query')
  await Promise.all(
    claimed.map(due =>
      finishDelivery({
        due,
        sent: { headers: {}, body: '{}' },
        outcome: { ...outcome, durationMs: 1, retryAfterMs: null },
      }),
    ),
  )
  const all = query.mock.calls.map(([config]) => config as unknown as Sent)
  query.mockRestore()
  const sizeOf = ({ values }: Sent) => String(values?.[0]).length
  const [largest] = all
    .filter(({ text }) => /troco_finish_deliveries/.test(text))
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  return largest as Sent
}

/** Buffers of the statement, run once more after its effects were undone; it is rolled back. */
async function measure(claimed: DueDelivery[], { text, values }: Sent): Promise<number> {
  const [first] = claimed
  return withClient(async client => {
    await client.query('BEGIN')
    await client.query(
      `UPDATE deliveries SET status = 'pending', delivered_at = NULL, attempts = 0, due_at = now()
       WHERE account_id = $1 AND status = 'delivered'`,
      [first?.accountId],
    )
    await client.query(WAIT, [first?.accountId])
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
    await client.query('ROLLBACK')
    return buffersOf(rows[0])
  })
}

interface Sent {
  text: string
  values: unknown[]
}
