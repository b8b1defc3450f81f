import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { type Claim, claim, postpone, releaseLeases, withLease } from '#lib/db/claim.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import { makeDatabase, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

// `claim` takes the due rows of all accounts, so these tests need a database of their own.
let merchant: Account
beforeAll(async () => {
  supplyEnv({ DATABASE_URL: await makeDatabase() })
  merchant = await makeMerchant()
})
afterAll(disconnect)
beforeEach(async () => {
  await db().$executeRaw`UPDATE charges SET due_at = NULL`
})

/** Opens charges that have been due for 1, 2, … seconds; the last charge is the oldest. */
async function makeDue(count: number): Promise<string[]> {
  const ids: string[] = []
  for (let age = 1; age <= count; age++) {
    const { id } = await openCharge(merchant)
    await db().$executeRaw`
      UPDATE charges SET due_at = now() - make_interval(secs => ${age}::float8)
      WHERE id = ${id}::uuid`
    ids.push(id)
  }
  return ids
}

const idsOf = (claims: Pick<Claim, 'id' | 'lease'>[]) => claims.map(claimed => claimed.id)

async function readLeaseSeconds(claimed: Claim | undefined): Promise<number> {
  const [row] = await db().$queryRaw<{ left: number }[]>`
    SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS left FROM charges
    WHERE id = ${claimed?.id}::uuid`
  return row?.left ?? Number.NaN
}

/**
 * Moves due times into the past instead of waiting, so that slow machines do not fail the tests.
 */
const passTime = (seconds: number) => db().$executeRaw`
  UPDATE charges SET due_at = due_at - make_interval(secs => ${seconds}::float8)`

describe('claiming due rows', () => {
  test('returns the oldest rows first, up to the limit', async () => {
    const [, , third, fourth] = await makeDue(4)
    expect(idsOf(await claim('charges', 2)).sort()).toEqual([third, fourth].sort())
    expect(await claim('charges', 10)).toHaveLength(2)
  })

  test('does not claim rows that are due later or not at all', async () => {
    const [id] = await makeDue(1)
    await db().$executeRaw`
      UPDATE charges SET due_at = now() + interval '1 minute' WHERE id = ${id}::uuid`
    await db().$executeRaw`UPDATE charges SET due_at = NULL WHERE id <> ${id}::uuid`
    expect(await claim('charges', 10)).toEqual([])
  })

  test('returns account, mode, connection, status, lease and number of attempts', async () => {
    const [id] = await makeDue(1)
    const lease = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const expected = {
      accountId: merchant.id,
      id,
      mode: 'test',
      connectionId: SIMULATOR_CONNECTION_ID,
      status: 'pending',
      lease,
      attempts: 1,
    }
    expect(await claim('charges', 1)).toEqual([expected])
  })

  test('eight concurrent claims get every row, and no row twice', async () => {
    const due = await makeDue(40)
    const batches = await Promise.all(Array.from({ length: 8 }, () => claim('charges', 7)))
    expect(idsOf(batches.flat()).sort()).toEqual(due.sort())
  })

  test('skips a row that another transaction has locked', async () => {
    const [free, locked] = await makeDue(2)
    await db().$transaction(async tx => {
      await tx.$queryRaw`SELECT 1 FROM charges WHERE id = ${locked}::uuid FOR UPDATE`
      expect(idsOf(await claim('charges', 10))).toEqual([free])
    })
  })

  test('hides a row until its lease expires; then it can be claimed under another lease', async () => {
    const [id] = await makeDue(1)
    const [first] = await claim('charges', 1, { durationMs: 60_000 })
    expect(await claim('charges', 1)).toEqual([])
    await passTime(60)
    const [second] = await claim('charges', 1)
    expect(second).toMatchObject({ id, attempts: 2 })
    expect(second?.lease).not.toBe(first?.lease)
  })

  test('without a duration, a lease lasts WORKER_LEASE_SECONDS', async () => {
    await makeDue(1)
    const [claimed] = await claim('charges', 1)
    const seconds = await readLeaseSeconds(claimed)
    expect(seconds).toBeGreaterThan(env().WORKER_LEASE_SECONDS - 10)
    expect(seconds).toBeLessThanOrEqual(env().WORKER_LEASE_SECONDS)
  })
})

describe('postponing a claimed row', () => {
  test('releases the row, which becomes due again after the requested time', async () => {
    const [id] = await makeDue(1)
    const [claimed] = await claim('charges', 1)
    expect(await postpone('charges', claimed!, 60_000)).toBe(true)
    expect(await claim('charges', 1)).toEqual([])
    await passTime(60)
    expect(idsOf(await claim('charges', 1))).toEqual([id])
  })

  test('changes nothing if another worker has claimed the row since', async () => {
    await makeDue(1)
    const [slow] = await claim('charges', 1, { durationMs: 50 })
    await sleep(100)
    const [owner] = await claim('charges', 1)
    expect(await postpone('charges', slow!, 0)).toBe(false)
    expect(await claim('charges', 1)).toEqual([])
    expect(await postpone('charges', owner!, 0)).toBe(true)
    expect(await claim('charges', 1)).toHaveLength(1)
  })

  test('works once per lease', async () => {
    await makeDue(1)
    const [claimed] = await claim('charges', 1)
    expect(await postpone('charges', claimed!, 0)).toBe(true)
    expect(await postpone('charges', claimed!, 60_000)).toBe(false)
  })
})

describe('work under a lease', () => {
  afterEach(() => supplyEnv({ WORKER_LEASE_SECONDS: '' }))

  test('gets the due rows under a lease that ends with the work, and returns their number', async () => {
    const [id] = await makeDue(1)
    const count = await withLease('charges', 10, async due => {
      expect(idsOf(due)).toEqual([id])
    })
    expect(count).toBe(1)
    expect(await withLease('charges', 10, () => Promise.reject(new Error('not called')))).toBe(0)
  })

  test('has its lease renewed until it ends, but not for released rows', async () => {
    supplyEnv({ WORKER_LEASE_SECONDS: '2' })
    await makeDue(2)
    await withLease('charges', 10, async due => {
      await postpone('charges', due[1]!, 0)
      await sleep(3_500)
      expect(idsOf(await claim('charges', 10))).toEqual([due[1]?.id])
    })
  })

  test('has the leases of all other rows renewed while one of them is locked', async () => {
    supplyEnv({ WORKER_LEASE_SECONDS: '2' })
    await makeDue(2)
    await withLease('charges', 10, async due => {
      const [locked, other] = due.toSorted((a, b) => a.id.localeCompare(b.id))
      await withClient(async client => {
        await client.query('BEGIN')
        await client.query('SELECT FROM charges WHERE id = $1 FOR UPDATE', [locked?.id])
        await sleep(3_500)
        expect(await readLeaseSeconds(other)).toBeGreaterThan(0)
        await client.query('COMMIT')
      })
    })
  })

  test('is not renewed after a failure: the rows stay hidden until the lease expires', async () => {
    await makeDue(1)
    const work = withLease('charges', 10, () => Promise.reject(new Error('failed')))
    await expect(work).rejects.toThrow('failed')
    expect(await claim('charges', 10)).toEqual([])
  })
})

test('a process that stops releases its unfinished rows at once', async () => {
  const ids = await makeDue(3)
  await withLease('charges', 10, async due => {
    const [first] = due
    await db().$executeRaw`
      UPDATE charges SET due_at = NULL, lease = NULL WHERE id = ${first?.id}::uuid`
    await releaseLeases()
    const remaining = ids.filter(id => id !== first?.id)
    expect(idsOf(await claim('charges', 10)).sort()).toEqual(remaining.sort())
  })
})
