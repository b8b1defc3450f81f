import { afterAll, beforeEach, expect } from 'vitest'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { measureClaim, seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import { makeDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const TABLES = ['deliveries', 'events', 'delivery_lanes', 'delivery_accounts']
const LANE_COUNT = pickSize(2_000, 5_000)

// Statistics of a table outlive its rows, so each test has a database without any.
const sharedUrl = env().DATABASE_URL ?? ''
beforeEach(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: await makeDatabase() })
  await runOnTables('ALTER TABLE % SET (autovacuum_enabled = false)')
})
afterAll(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL: sharedUrl })
})

async function runOnTables(statement: string): Promise<void> {
  for (const table of TABLES) await runAsOwner(statement.replace('%', table))
}

const CLAIM = `SELECT * FROM troco_claim_deliveries(
  gen_random_uuid(), 30000, 256, 32, 64, 16, 4)`
const measure = () => withClient(client => measureClaim(client, CLAIM))

testInTorture.each([
  ['one delivery', 1, 'SELECT FROM %'],
  ['deleted deliveries', 100, 'DELETE FROM %'],
])(
  'a claim and a new due time cost as much with plans from statistics of %s',
  async (_what, count, change) => {
    const { id } = await makeMerchant()
    await seedDueDeliveries({ accountId: id, count })
    await runOnTables(change)
    await runOnTables('ANALYZE %')
    await withClient(async early => {
      await measureClaim(early, CLAIM)
      await seedDueDeliveries({ accountId: id, count: LANE_COUNT })
      const costs = [await measureClaim(early, CLAIM), await measure()]
      await insertEarlierAccounts()
      const rowsRead = await countRowsRead(id)
      await runOnTables('VACUUM ANALYZE %')
      const { buffers } = await measure()
      for (const cost of costs)
        expect(cost.buffers / buffers, `${cost.buffers} and ${buffers}`).toBeLessThan(1.5)
      expect(rowsRead).toBeLessThan(20)
    })
  },
)

/** Accounts that are not due, with ids before those of the others. */
function insertEarlierAccounts(): Promise<unknown> {
  return withClient(client =>
    client.query(
      `INSERT INTO delivery_accounts (account_id, due_at)
       SELECT lpad(to_hex(n), 32, '0')::uuid, now() + interval '1 hour'
       FROM generate_series(1, 1_000) n`,
    ),
  )
}

/** Lanes and accounts that the trigger reads when one delivery becomes due earlier. */
function countRowsRead(accountId: string): Promise<number> {
  return withClient(async client => {
    await client.query('BEGIN')
    await client.query(
      `UPDATE deliveries SET due_at = due_at - interval '1 s'
       WHERE account_id = $1 AND sequence = (SELECT max(sequence) FROM deliveries)`,
      [accountId],
    )
    const { rows } = await client.query(
      `SELECT sum(idx_tup_fetch)::int AS count FROM pg_stat_xact_user_tables
       WHERE relname IN ('delivery_lanes', 'delivery_accounts')`,
    )
    await client.query('ROLLBACK')
    return rows[0].count
  })
}
