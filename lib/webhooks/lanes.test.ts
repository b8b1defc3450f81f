import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { addEndpoint, createPaidCharge } from '#lib/testing/deliveries.ts'
import { measureClaim, seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import { inOwnDatabase, makeMerchant, runAsOwner } from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { pickSize } from '#lib/testing/size.ts'
import { finishDelivery, healLanes } from '#lib/webhooks/deliver.ts'
import { claimDueDeliveries, type DueDelivery } from '#lib/webhooks/deliveries.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'

inOwnDatabase()

const random = new Random(chooseSeed(), 1)

const PLACES = 256
const RESERVED = 32

let merchant: Account
let other: Account
beforeEach(async () => {
  await runAsOwner(
    'TRUNCATE deliveries, delivery_attempts, events, delivery_lanes, delivery_accounts',
  )
  merchant = await makeMerchant()
  other = await makeMerchant()
})

/** Claims as a worker does, until nothing more is due or all its places are taken. */
async function claimAll(places = PLACES, reserved = RESERVED): Promise<DueDelivery[]> {
  const all: DueDelivery[] = []
  for (let mayContinue = true; mayContinue && all.length < places; ) {
    const { claimed, more } = await claimDueDeliveries(places - all.length, reserved)
    all.push(...claimed)
    mayContinue = more
  }
  return all
}

function finish(due: DueDelivery, status = 200): Promise<void> {
  const problem = status < 300 ? null : ({ code: 'status', params: { status } } as const)
  const response = { status, headers: null, body: null, problem, address: null }
  const sent = { headers: {}, body: due.body ?? '{}' }
  return finishDelivery({ due, sent, outcome: { ...response, durationMs: 1, retryAfterMs: null } })
}

/** Ends all leases now, as if their worker had been killed that long ago. */
const endLeases = () =>
  db().$executeRaw`UPDATE deliveries SET due_at = now() - interval '1 ms' WHERE lease IS NOT NULL`

const lanesOf = ({ id }: Account) => db().deliveryLane.findMany({ where: { accountId: id } })
const accountRows = () => db().deliveryAccount.findMany()

/** Deliveries that no claim would find in time: without a lane, or with one that is later. */
async function countLost(): Promise<number> {
  const [row] = await db().$queryRaw<{ lost: number }[]>`
    SELECT count(*)::int AS lost FROM deliveries d
    LEFT JOIN delivery_lanes l ON l.account_id = d.account_id AND l.host = d.host
    LEFT JOIN delivery_accounts a ON a.account_id = d.account_id
    WHERE d.due_at IS NOT NULL AND (l.host IS NULL OR a.account_id IS NULL OR
      greatest(l.due_at, a.due_at) > greatest(d.due_at, now()) AND NOT (l.is_full OR a.is_full))`
  return row?.lost ?? -1
}

/** `npm run torture` sets 100,000. */
const LANE_COUNT = Number(process.env.LANES || 5_000)

describe('an account with many due receivers', () => {
  test('does not delay the delivery of another account, and a claim costs as much as with 100', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 100, host: `'h' || n || '.test'` })
    const few = await measureAfterVacuum()
    await db().$executeRaw`DELETE FROM deliveries`
    await db().$executeRaw`DELETE FROM delivery_lanes`
    await seedDueDeliveries({ accountId: merchant.id, count: LANE_COUNT })
    const many = await measureAfterVacuum()
    expect(few.rows).toBe(many.rows)
    expect(many.buffers / few.buffers, `${many.buffers} and ${few.buffers}`).toBeLessThan(1.5)

    await claimAll()
    await seedDueDeliveries({ accountId: other.id, count: 1 })
    const { claimed } = await claimDueDeliveries(PLACES, RESERVED)
    expect(claimed.map(({ accountId }) => accountId)).toContain(other.id)
  })

  /** As the owner: for another role, PostgreSQL skips the table with a warning. */
  async function measureAfterVacuum(): Promise<{ buffers: number; rows: number }> {
    for (const table of ['deliveries', 'events', 'delivery_lanes', 'delivery_accounts'])
      await runAsOwner(`VACUUM ANALYZE ${table}`)
    const claim = `SELECT * FROM troco_claim_deliveries(
      gen_random_uuid(), 30000, ${PLACES}, ${RESERVED}, 64, 16, 4)`
    return withClient(client => measureClaim(client, claim))
  }
})

test('of 600 due accounts each gets its turn, also if the first have nothing to send', async () => {
  await withClient(client =>
    client.query(
      `INSERT INTO delivery_accounts (account_id, due_at)
       SELECT gen_random_uuid(), now() - interval '1 hour' FROM generate_series(1, 600)`,
    ),
  )
  await seedDueDeliveries({ accountId: merchant.id, count: 300, host: `'h.test'` })
  await seedDueDeliveries({ accountId: other.id, count: 1 })
  const accounts = new Set((await claimAll()).map(({ accountId }) => accountId))
  expect(accounts).toEqual(new Set([merchant.id, other.id]))
  expect(await accountRows()).toHaveLength(2)
})

describe('four concurrent claims', () => {
  test.each([1, 2, 3].slice(0, pickSize(1, 3)))(
    'never exceed a limit nor break the order of a resource (run %s)',
    async () => {
      const accounts = [merchant, other, await makeMerchant()]
      const upTo = (most: number) => 1 + Math.floor(random.fraction() * most)
      for (const { id } of accounts) {
        const hosts = upTo(12)
        const host = `'h' || (n * ${upTo(97)} % ${hosts}) || '.test'`
        const url = `'https://' || ${host} || '/' || (n * ${upTo(97)} % ${upTo(9)})`
        const subject = `(n * ${upTo(97)} % ${upTo(2) * 100})`
        await seedDueDeliveries({ accountId: id, count: 150 + upTo(200), host, url, subject })
      }
      const total = await db().delivery.count()
      let done = 0
      const held: DueDelivery[] = []
      const order = new Map<string, number | bigint>()
      for (let round = 0; done < total && round < 400; round++) {
        const claims = await Promise.all(
          Array.from({ length: 4 }, () => claimDueDeliveries(upTo(PLACES), RESERVED)),
        )
        held.push(...claims.flatMap(({ claimed }) => claimed))
        await expectLimits()
        const ended = held.splice(0, upTo(held.length))
        await Promise.all(ended.map(due => finish(due)))
        for (const { id, accountId, event } of ended) {
          const { subjectId } = await db().delivery.findFirstOrThrow({ where: { id, accountId } })
          expect(event.sequence).toBeGreaterThan(order.get(subjectId) ?? 0)
          order.set(subjectId, event.sequence)
        }
        done += ended.length
      }
      expect(done).toBe(total)
      expect(await db().delivery.count({ where: { status: 'pending' } })).toBe(0)
    },
  )

  async function expectLimits(): Promise<void> {
    const [row] = await db().$queryRaw<Record<string, number>[]>`
      SELECT
        (SELECT max(n)::int FROM (SELECT count(*) n FROM deliveries WHERE lease IS NOT NULL
          GROUP BY account_id) a) AS account,
        (SELECT max(n)::int FROM (SELECT count(*) n FROM deliveries WHERE lease IS NOT NULL
          GROUP BY account_id, host) h) AS host,
        (SELECT max(n)::int FROM (SELECT count(*) n FROM deliveries WHERE lease IS NOT NULL
          GROUP BY account_id, url) u) AS url,
        (SELECT max(n)::int FROM (SELECT count(*) n FROM deliveries WHERE lease IS NOT NULL
          GROUP BY account_id, subject_id, endpoint_id) s) AS subject`
    expect(row?.account ?? 0).toBeLessThanOrEqual(64)
    expect(row?.host ?? 0).toBeLessThanOrEqual(16)
    expect(row?.url ?? 0).toBeLessThanOrEqual(4)
    expect(row?.subject ?? 0).toBeLessThanOrEqual(1)
  }

  test('reach all limits: 64 calls of an account, 16 of a host, 4 of a URL', async () => {
    const host = `'h' || (n % 5) || '.test'`
    const url = `'https://' || ${host} || '/' || (n % 30)`
    await seedDueDeliveries({ accountId: merchant.id, count: 900, host, url })
    await seedDueDeliveries({ accountId: other.id, count: 100, host: `'h.test'` })
    const { id: third } = await makeMerchant()
    const ofOneHost = { host: `'one.test'`, url: `'https://one.test/' || (n % 30)` }
    await seedDueDeliveries({ accountId: third, count: 300, ...ofOneHost })
    const claims = await Promise.all(Array.from({ length: 4 }, () => claimAll()))
    const rest = await claimAll()
    const of = ({ id }: Pick<Account, 'id'>) =>
      [...claims.flat(), ...rest].filter(({ accountId }) => accountId === id)
    expect(of(merchant)).toHaveLength(64)
    expect(of(other)).toHaveLength(4)
    expect(of({ id: third })).toHaveLength(16)
    expect(await claimAll()).toEqual([])
  })
})

describe('a delivery that is made while claims postpone and delete its lane', () => {
  test('is always claimed, without the sweep', async () => {
    const accounts = [merchant, other]
    let isOver = false
    const writers = accounts.flatMap(({ id }) => [1, 2, 3].map(part => write(id, part)))
    const claimers = Array.from({ length: 3 }, () => claimAndFinish())
    await Promise.all(writers)
    isOver = true
    await Promise.all(claimers)
    await expect
      .poll(async () => {
        await Promise.all((await claimAll()).map(due => finish(due)))
        return db().delivery.count({ where: { status: 'pending' } })
      })
      .toBe(0)
    expect(await countLost()).toBe(0)

    async function write(accountId: string, part: number): Promise<void> {
      await withClient(async client => {
        for (let count = 1; count <= 40; count++) {
          await client.query('BEGIN')
          await insertEach(client, accountId, part * 1_000 + count)
          await sleep(random.fraction() * 8)
          await client.query('COMMIT')
          await sleep(random.fraction() * 4)
        }
      }, ownerUrlOf())
    }

    async function claimAndFinish(): Promise<void> {
      while (!isOver) {
        const claimed = await claimAll()
        await Promise.all(claimed.map(due => finish(due, random.fraction() < 0.1 ? 500 : 200)))
        await db().$executeRaw`UPDATE deliveries SET due_at = now() WHERE id IN (
          SELECT id FROM deliveries WHERE due_at > now() AND lease IS NULL FOR UPDATE SKIP LOCKED)`
      }
    }
  })

  /** Two deliveries: to a host that all writers share, and to a host of its own. */
  async function insertEach(
    client: { query: (text: string, values: unknown[]) => Promise<unknown> },
    accountId: string,
    sequence: number,
  ): Promise<void> {
    await client.query(
      `WITH recorded AS (
         INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, created_at)
         SELECT $1, gen_random_uuid(), 'test', $2::bigint * 2 + n, 'transaction.paid', gen_random_uuid(), '{}', now()
         FROM generate_series(0, 1) n RETURNING *)
       INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, url, host, status, due_at)
       SELECT account_id, id, mode, id, subject_id, sequence, 'https://h.test/' || sequence,
         CASE sequence % 2 WHEN 0 THEN 'h.test' ELSE 'h' || sequence || '.test' END, 'pending', now()
       FROM recorded`,
      [accountId, sequence],
    )
  }
})

test('a claim does not wait for a statement that makes a delivery, nor that for the claim', async () => {
  await seedDueDeliveries({ accountId: merchant.id, count: 20, host: `'h.test'` })
  await withClient(async client => {
    await client.query('BEGIN')
    await client.query(
      `UPDATE deliveries SET due_at = now() - interval '1 s' WHERE account_id = $1 AND sequence = 1`,
      [merchant.id],
    )
    await client.query(`SET LOCAL lock_timeout = '1s'`)
    expect(await claimDueDeliveries(PLACES)).toMatchObject({ claimed: { length: 3 } })
    await client.query('COMMIT')
  }).catch(error => expect.unreachable(error))
})

describe('a killed worker', () => {
  test('loses no place after its leases ended', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 200 })
    const before = await claimAll()
    expect(before).toHaveLength(64)
    expect(await claimAll()).toEqual([])
    await endLeases()
    const after = await claimAll()
    expect(after).toHaveLength(64)
    for (const due of before) await finish(due)
    const again = await db().delivery.count({ where: { lease: { not: null } } })
    expect(again).toBe(64)
  })

  test('leaves its places full for 5 s at most when the lease ended', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 8, host: `'h.test'` })
    expect(await claimAll()).toHaveLength(4)
    expect(await claimAll()).toEqual([])
    const [lane] = await lanesOf(merchant)
    expect(lane?.isFull).toBe(true)
    expect(lane?.dueAt.getTime()).toBeLessThan(Date.now() + 5_500)
  })
})

test('an ended call frees its place at once, also for a lane and an account that were full', async () => {
  await seedDueDeliveries({
    accountId: merchant.id,
    count: 300,
    host: `'h' || (n % 100) || '.test'`,
  })
  const calls = await claimAll()
  expect(calls).toHaveLength(64)
  expect(await claimAll()).toEqual([])
  expect(await accountRows()).toMatchObject([{ isFull: true }])
  for (const due of calls.slice(0, 10)) await finish(due, 500)
  expect(await claimAll()).toHaveLength(10)
})

test('the last 32 places of a worker are for accounts without a call in progress', async () => {
  const busy = [merchant, ...(await Promise.all([1, 2, 3, 4].map(() => makeMerchant())))]
  for (const { id } of busy) await seedDueDeliveries({ accountId: id, count: 100 })
  const calls = await claimAll()
  expect(calls).toHaveLength(PLACES - RESERVED)
  expect(await claimAll(RESERVED)).toEqual([])
  await seedDueDeliveries({ accountId: other.id, count: 10 })
  const { claimed } = await claimDueDeliveries(RESERVED, RESERVED)
  expect(claimed.map(({ accountId }) => accountId)).toEqual([other.id])
  expect(await claimAll(RESERVED - 1)).toEqual([])
})

describe('lanes', () => {
  test('are removed when their deliveries have ended', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 30 })
    await Promise.all((await claimAll()).map(due => finish(due)))
    expect(await lanesOf(merchant)).toHaveLength(30)
    await db().$executeRaw`UPDATE delivery_lanes SET due_at = now()`
    await db().$executeRaw`UPDATE delivery_accounts SET due_at = now()`
    expect(await claimAll()).toEqual([])
    expect(await lanesOf(merchant)).toEqual([])
    expect(await accountRows()).toEqual([])
  })

  test('are due again with the retry of a delivery', async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 1 })
    const [due] = await claimAll()
    if (due) await finish(due, 500)
    expect(await countLost()).toBe(0)
    const [lane] = await lanesOf(merchant)
    expect(lane?.dueAt.getTime()).toBeLessThan(Date.now() + 7_000)
  })

  test('are kept by a disabled endpoint only until the next claim, and return when it is enabled', async () => {
    const { id } = await addEndpoint(merchant, 'https://h.test/')
    await createPaidCharge(merchant)
    await disableEndpoint(merchant.id, id, 'gone')
    expect(await claimAll()).toEqual([])
    expect(await lanesOf(merchant)).toEqual([])
    await db().$executeRaw`UPDATE deliveries SET due_at = now() WHERE endpoint_id = ${id}::uuid`
    expect(await claimAll()).toHaveLength(1)
  })
})

describe('the sweep', () => {
  let isSent: () => Promise<boolean>
  beforeEach(async () => {
    await seedDueDeliveries({ accountId: merchant.id, count: 3 })
    await seedDueDeliveries({ accountId: other.id, count: 1 })
    await db().$executeRaw`UPDATE deliveries SET due_at = due_at - interval '1 minute'`
    isSent = async () => (await claimAll()).length === 4
  })
  afterEach(async () => {
    expect(await claimAll()).toEqual([])
    expect(await healLanes()).toBeGreaterThan(0)
    expect(await countLost()).toBe(0)
    expect(await isSent()).toBe(true)
    expect(await healLanes()).toBe(0)
  })

  test.each([
    ['missing lanes', `DELETE FROM delivery_lanes; DELETE FROM delivery_accounts`],
    ['missing accounts', 'DELETE FROM delivery_accounts'],
    ['late lanes', `UPDATE delivery_lanes SET due_at = now() + interval '1 day'`],
    ['late accounts', `UPDATE delivery_accounts SET due_at = now() + interval '1 day'`],
  ])('restores %s', async (_what, sql) => {
    await withClient(client => client.query(sql))
  })
})
