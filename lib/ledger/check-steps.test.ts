import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { connect, type Database, db } from '#lib/db/client.ts'
import { checkLedger } from '#lib/ledger/check.ts'
import { superuserUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { historySql } from '#lib/testing/ledger-history.ts'
import { pickSize } from '#lib/testing/size.ts'

/** With refunds and withdrawals, 1.4 times as many movements. */
const PAYMENTS = pickSize(6_000, 150_000)
const NEW_PAYMENTS = 20
/** Blocks read per new payment, whatever exists: measured are 68 beside 150,000 payments. */
const BLOCKS_PER_PAYMENT_MAX = 120
const STEP_ROWS = 5_000

inOwnDatabase()

let database: Database
let merchant: Account
beforeAll(async () => {
  database = connect({ poolMax: 1 })
  merchant = await makeMerchant()
  await query(superuserUrlOf(), historySql(merchant.id, PAYMENTS))
}, 600_000)
afterAll(() => database.$disconnect())

/** Blocks of all tables and indexes that the work reads on its connection. */
async function countBlocks(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await database.$queryRaw`SELECT pg_stat_force_next_flush()::text`
    const [{ blocks } = { blocks: 0 }] = await db().$queryRaw<{ blocks: number }[]>`
      SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::float8 AS blocks
      FROM pg_statio_user_tables`
    return blocks
  }
  const before = await read()
  await work()
  return (await read()) - before
}

const marks = () => db().ledgerMark.findMany({ where: { accountId: merchant.id } })
const readWrong = async () =>
  (await db().ledgerCheck.findUnique({ where: { accountId: merchant.id } }))?.wrong

function passWeek(): Promise<unknown> {
  return db().$executeRaw`UPDATE ledger_slices SET begun_at = begun_at - interval '7 days'`
}

test('a check stops between its steps when it is told to, and the next one goes on there', async () => {
  const stopping = new AbortController()
  stopping.abort()
  const verified = async () =>
    (await marks()).reduce((sum, { version }) => sum + Number(version), 0)
  let before = 0
  for (let steps = 1; steps <= 2; steps++) {
    expect(await checkLedger(database, merchant.id, { signal: stopping.signal })).toBe('stopped')
    const more = (await verified()) - before
    expect(more).toBeGreaterThan(0)
    expect(more).toBeLessThanOrEqual(STEP_ROWS)
    before += more
  }
  expect(await checkLedger(database, merchant.id)).toBe('done')
  expect(await verified()).toBe(PAYMENTS * 2.8)
  expect(await readWrong()).toBeNull()
}, 600_000)

test('the next check reads only what is new', async () => {
  for (let nth = 0; nth < NEW_PAYMENTS; nth++) await fundMerchant(merchant, 500)
  const blocks = await countBlocks(() => checkLedger(database, merchant.id))
  expect(await readWrong()).toBeNull()
  expect(blocks / NEW_PAYMENTS).toBeLessThan(BLOCKS_PER_PAYMENT_MAX)
})

test('with nothing new it reads a few blocks', async () => {
  expect(await countBlocks(() => checkLedger(database, merchant.id))).toBeLessThan(200)
})

test('within a week each older row is read again, in steps', async () => {
  await passWeek()
  expect(await checkLedger(database, merchant.id)).toBe('done')
  const slices = await db().ledgerSlice.findMany({ where: { accountId: merchant.id } })
  const rows = Object.fromEntries(slices.map(({ part, rowsBefore }) => [part, rowsBefore]))
  const transfers = PAYMENTS * 1.4 + NEW_PAYMENTS
  expect(rows).toMatchObject({
    ...{
      ledger_transfers: transfers,
      ledger_entries: 2 * transfers,
      charges: PAYMENTS + NEW_PAYMENTS,
    },
    withdrawals: PAYMENTS / 10,
    refunds: PAYMENTS / 10,
    bank_fees: 0,
  })
  expect(await readWrong()).toBeNull()
}, 600_000)

describe('what was changed in an old movement', () => {
  const OLD = `account_id = '$1' AND mode = 'test' AND ledger = 'available' AND version = 7`
  const old = () => OLD.replace('$1', merchant.id)
  test.each([
    [
      'an amount',
      () => `UPDATE ledger_transfers SET amount = amount + 1 WHERE account_id = '${merchant.id}'
        AND subject_id = (SELECT subject_id FROM ledger_entries WHERE ${old()})`,
      'exactly the paid charges were credited',
      () => `UPDATE ledger_transfers SET amount = amount - 1 WHERE account_id = '${merchant.id}'
        AND subject_id = (SELECT subject_id FROM ledger_entries WHERE ${old()})`,
    ],
    [
      'a balance after it',
      () => `UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE ${old()}`,
      "every entry's balance is the one before it",
      () => `UPDATE ledger_entries SET balance_after = balance_after - 1 WHERE ${old()}`,
    ],
    [
      'its entry, which is gone',
      () => `CREATE TABLE gone AS SELECT * FROM ledger_entries WHERE ${old()};
        DELETE FROM ledger_entries WHERE ${old()}`,
      'no entry missing',
      () => 'INSERT INTO ledger_entries SELECT * FROM gone; DROP TABLE gone',
    ],
  ])(
    '%s is found when its turn comes, and until it is right',
    async (_what, sql, found, undo) => {
      const run = (text: string) =>
        query(superuserUrlOf(), `SET session_replication_role = replica; ${text}`)
      await run(sql())
      await checkLedger(database, merchant.id)
      expect(await readWrong()).toBeNull()
      await passWeek()
      for (let times = 0; times < 2; times++) {
        await checkLedger(database, merchant.id)
        expect(await readWrong()).toContain(found)
      }
      await run(undo())
      await checkLedger(database, merchant.id)
      expect(await readWrong()).toBeNull()
    },
    600_000,
  )
})
