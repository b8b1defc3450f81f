import { Client } from 'pg'
import { beforeAll, expect, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { claim } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'
import { claimDue, claimSlots, newQueue } from '#lib/orders/order.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, endSlots } from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import { inOwnDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'

inOwnDatabase()

/** Due rows of a bank that has not responded for hours. */
const WAITING = 20_000
const LIMIT = 5

let merchant: Account
let id: string
let hangingId: string
beforeAll(async () => {
  merchant = await makeMerchant()
  id = await addConnection(new StubBank())
  hangingId = await addConnection(new StubBank())
})

/** Adds rows that are due, the oldest longest, each of its own table and connection. */
async function seed(connectionId: string, count: number, age: string): Promise<void> {
  const row = `SELECT $1::uuid, gen_random_uuid() AS id, 'live', $2::uuid, 'pending', 1000, now() - $4::interval`
  const values = [merchant.id, connectionId, count, age]
  const insert = (sql: string) => withClient(client => client.query(sql, values))
  await insert(`
    WITH r AS (${row} FROM generate_series(1, $3::int))
    INSERT INTO charges (account_id, id, mode, connection_id, status, amount, due_at, br_code,
      external_id, txid, client_name, client_email, client_doc, expires_at)
    SELECT r.*, 'x', id::text, id::text, 'Ana', 'ana@x.example', '1', now() FROM r`)
  // Half of them were sent, the others wait for a slot.
  await insert(`
    INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target, due_at, state, slot_until)
    SELECT $1::uuid, gen_random_uuid(), k.kind, k.operation, 'live', $2::uuid, 1000, 'a@x.example', now() - $4::interval,
      CASE n % 2 WHEN 0 THEN 'placed' ELSE 'waiting' END, CASE n % 2 WHEN 0 THEN now() - $4::interval END
    FROM generate_series(1, $3::int) n, (VALUES ('withdrawal', 'payout'), ('refund', 'refund')) k (kind, operation)`)
}

/** Returns the buffers that the statements of a claim about its table use with current statistics. */
async function measure(table: string, work: () => Promise<unknown[]>): Promise<number> {
  for (const name of ['charges', 'bank_orders']) await runAsOwner(`VACUUM ANALYZE ${name}`)
  await endSlots(id)
  const query = vi.spyOn(Client.prototype, 'query')
  const claimed = await work()
  const sent = query.mock.calls.map(([config]) => config as unknown as Sent)
  query.mockRestore()
  expect(claimed).toHaveLength(LIMIT)
  const about = sent.filter(({ text = '' }) => new RegExp(`(FROM|UPDATE) ${table}\\b`).test(text))
  expect(about.length).toBeGreaterThan(0)
  let buffers = 0
  for (const { text = '', values } of about) buffers += await explain(text, values)
  return buffers
}

async function explain(text: string, values: unknown[]): Promise<number> {
  return withClient(async client => {
    await client.query('BEGIN')
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
    await client.query('ROLLBACK')
    const { Plan: plan } = rows[0]['QUERY PLAN'][0]
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  })
}

interface Sent {
  text?: string
  values: unknown[]
}

testInTorture('a claim of a connection reads none of the due rows of another', async () => {
  const payouts = newQueue(id, 'payout', ['withdrawal'])
  const refunds = newQueue(id, 'refund', ['refund'])
  const condition = Prisma.sql`connection_id = ${id}::uuid`
  const claims: [string, string, () => Promise<unknown[]>][] = [
    ['charges', 'charges', () => claim('charges', LIMIT, { condition })],
    [
      'payouts that wait',
      'bank_orders',
      () => claimSlots(payouts, { payoutsInFlight: LIMIT }, LIMIT),
    ],
    ['payouts that were sent', 'bank_orders', () => claimDue(payouts, 'placed', LIMIT)],
    ['refunds that wait', 'bank_orders', () => claimDue(refunds, 'waiting', LIMIT)],
  ]
  await seed(id, 1_000, '1 minute')
  const alone: number[] = []
  for (const [, table, work] of claims) alone.push(await measure(table, work))
  await seed(hangingId, WAITING, '3 hours')
  for (const [name, table, work] of claims) {
    const before = alone.shift() ?? Number.NaN
    const buffers = await measure(table, work)
    expect(buffers / before, `${name}: ${before}, then ${buffers}`).toBeLessThan(2)
  }
})
