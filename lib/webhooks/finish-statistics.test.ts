import { Client } from 'pg'
import { afterAll, beforeEach, expect, vi } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import { makeDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { finishDelivery } from '#lib/webhooks/deliver.ts'
import { claimDueDeliveries, type DueDelivery } from '#lib/webhooks/deliveries.ts'

// Statistics of a table outlive its rows, so each test has a database without any.
const sharedUrl = env().DATABASE_URL ?? ''
beforeEach(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: await makeDatabase() })
  await runAsOwner('ALTER TABLE deliveries SET (autovacuum_enabled = false)')
  // Its check is a statement of PostgreSQL's own, whose plan depends on statistics.
  await runAsOwner(`ALTER TABLE delivery_attempts
    DROP CONSTRAINT delivery_attempts_account_id_delivery_id_fkey`)
})
afterAll(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: sharedUrl })
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
    const { claimed } = await claimDueDeliveries(64)
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
    AND n.lease IS NULL AND n.status = 'pending'
    AND n.sequence > (SELECT max(sequence) FROM deliveries) - ${SUBJECTS}`

async function countWaiting(): Promise<number> {
  return db().delivery.count({ where: { dueAt: { gt: new Date() }, lease: null } })
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
      `UPDATE deliveries SET status = 'pending', delivered_at = NULL, lease = $2,
         due_at = now() + interval '1 minute' WHERE account_id = $1 AND status = 'delivered'`,
      [first?.accountId, first?.lease],
    )
    await client.query(WAIT, [first?.accountId])
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
    await client.query('ROLLBACK')
    const { Plan: plan } = rows[0]['QUERY PLAN'][0]
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  })
}

interface Sent {
  text: string
  values: unknown[]
}
