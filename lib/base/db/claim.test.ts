import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type Claim,
  claim,
  claimInTurn,
  postpone,
  releaseLeases,
  withLease,
} from '#lib/base/db/claim.ts'
import { db, disconnect } from '#lib/base/db/client.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { makeDatabase, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'

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

describe('claiming in turn', () => {
  const FIRST = '00000000-0000-0000-0000-000000000000'
  beforeEach(async () => {
    await db().$executeRaw`UPDATE withdrawals SET due_at = NULL`
  })

  /** Makes accounts in the order of their ids, each with withdrawals in the order of their due times. */
  async function makeDueWithdrawals(accountCount: number, perAccount: number) {
    const accounts: string[] = []
    for (let count = 0; count < accountCount; count++) accounts.push((await makeMerchant()).id)
    const made = accounts.toSorted().map(async accountId => {
      const ids: string[] = []
      for (let count = 0; count < perAccount; count++) {
        const dueAt = new Date(Date.now() - 60_000 + count)
        ids.push((await LISTS[1]?.insert(accountId, { dueAt }))?.id ?? '')
      }
      return { accountId, ids }
    })
    return Promise.all(made)
  }

  test('takes the oldest row of each account, from the account after the last one on', async () => {
    const [a, b, c] = (await makeDueWithdrawals(3, 3)) as [Made, Made, Made]
    const claimTwo = async (after: string) =>
      idsOf(await claimInTurn('withdrawals', SIMULATOR_CONNECTION_ID, 2, { after })).sort()
    expect(await claimTwo(FIRST)).toEqual([a.ids[0], b.ids[0]].sort())
    expect(await claimTwo(a.accountId)).toEqual([b.ids[1], c.ids[0]].sort())
    expect(await claimTwo(b.accountId)).toEqual([c.ids[1], c.ids[2]].sort())
    expect(await claimTwo(c.accountId)).toEqual([])
    expect(await claimInTurn('withdrawals', newId(), 10, { after: FIRST })).toEqual([])
    expect(
      await claimInTurn('withdrawals', SIMULATOR_CONNECTION_ID, 10, { after: FIRST }),
    ).toHaveLength(3)
  })
  type Made = { accountId: string; ids: string[] }

  test('claims each row once, however many claims run at the same time', async () => {
    const made = await makeDueWithdrawals(4, 50)
    const claimed: string[] = []
    const claimAll = async () => {
      for (let empty = 0; empty < 5; ) {
        const ids = idsOf(
          await claimInTurn('withdrawals', SIMULATOR_CONNECTION_ID, 8, { after: FIRST }),
        )
        claimed.push(...ids)
        if (ids.length === 0) empty++
      }
    }
    await Promise.all(Array.from({ length: 8 }, claimAll))
    expect(claimed.toSorted()).toEqual(made.flatMap(({ ids }) => ids).toSorted())
  })
})

describe('every queue table can be claimed and released', () => {
  beforeEach(async () => {
    await db().$executeRaw`UPDATE withdrawals SET due_at = NULL`
  })

  const insert = {
    withdrawals: (id: string) => db().$executeRaw`
      INSERT INTO withdrawals
        (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key, due_at)
      VALUES (${merchant.id}::uuid, ${id}::uuid, 'test', 'pending', 1000, 'email', 'a@b.c', 'a@b.c',
        now())`,
    refunds: async (id: string) => {
      const charge = await openCharge(merchant)
      return db().$executeRaw`
        INSERT INTO refunds (account_id, id, charge_id, mode, status, amount, due_at)
        VALUES (${merchant.id}::uuid, ${id}::uuid, ${charge.id}::uuid, 'test', 'pending', 1, now())`
    },
  }

  test.each(['withdrawals', 'refunds'] as const)('%s', async table => {
    const id = newId()
    await insert[table](id)
    const [claimed] = await claim(table, 10)
    expect(claimed).toMatchObject({ accountId: merchant.id, id, mode: 'test', attempts: 1 })
    expect(await claim(table, 10)).toEqual([])
    expect(await postpone(table, claimed!, 0)).toBe(true)
    expect(idsOf(await claim(table, 10))).toEqual([id])
  })
})
