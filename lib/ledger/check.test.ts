import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Database, db } from '#lib/db/client.ts'
import { checkLedger, checkLedgers } from '#lib/ledger/check.ts'
import { superuserUrlOf } from '#lib/testing/database.ts'
import { fundMerchant, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

let database: Database
beforeAll(() => {
  database = connect({ poolMax: 2 })
})
afterAll(() => database.$disconnect())

function readCheck(accountId: string) {
  return db().ledgerCheck.findUnique({ where: { accountId } })
}

function setCheckAge(accountId: string, minutes: number) {
  return db().$executeRaw`
    UPDATE ledger_checks SET checked_at = now() - make_interval(mins => ${minutes}::int)
    WHERE account_id = ${accountId}::uuid`
}

/** Runs a statement as superuser with all triggers disabled (session_replication_role). */
async function corrupt(statement: string, values: string[]): Promise<void> {
  const client = new Client({ connectionString: superuserUrlOf() })
  await client.connect()
  await client.query('SET session_replication_role = replica')
  await client.query(statement, values)
  await client.end()
}

async function makeFundedMerchant() {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 5_000)
  return merchant
}

test('new accounts are checked at once, and again only after an hour', async () => {
  const { id } = await makeFundedMerchant()
  expect(await readCheck(id)).toBeNull()
  expect(await checkLedgers()).toBeGreaterThan(0)
  const first = await readCheck(id)
  expect(first).toMatchObject({ wrong: null })
  await setCheckAge(id, 59)
  await checkLedgers()
  expect((await readCheck(id))?.checkedAt.getTime()).toBeLessThan(first?.checkedAt.getTime() ?? 0)
  await setCheckAge(id, 61)
  expect(await checkLedgers()).toBe(1)
  expect((await readCheck(id))?.checkedAt.getTime()).toBeGreaterThan(Date.now() - 60_000)
})

test('the accounts checked longest ago come first', async () => {
  const [older, newer] = [await makeFundedMerchant(), await makeFundedMerchant()]
  await checkLedgers()
  await setCheckAge(newer.id, 120)
  await setCheckAge(older.id, 240)
  expect(await checkLedgers(1)).toBe(1)
  const checkAgeMs = async (id: string) => Date.now() - Number((await readCheck(id))?.checkedAt)
  expect(await checkAgeMs(older.id)).toBeLessThan(60_000)
  expect(await checkAgeMs(newer.id)).toBeGreaterThan(60_000)
})

test('a changed balance is reported until it is correct again', async () => {
  const { id } = await makeFundedMerchant()
  const tamper = (difference: number) =>
    corrupt(
      `UPDATE ledger_accounts SET balance = balance + ${difference}
      WHERE account_id = $1::uuid AND mode = 'test' AND ledger = 'available'`,
      [id],
    )
  await tamper(1)
  await checkLedger(database, id)
  const { wrong } = (await readCheck(id)) ?? {}
  expect(wrong).toContain('every balance is the sum of its entries')
  expect(wrong).toContain(`account ${id}, test: available balance`)
  await tamper(-1)
  await checkLedger(database, id)
  expect(await readCheck(id)).toMatchObject({ wrong: null })
})

test('of two concurrent workers only one checks an account', async () => {
  const { id } = await makeFundedMerchant()
  const other = connect({ poolMax: 1 })
  const isChecked = await other.$transaction(async tx => {
    await tx.$executeRaw`
      SELECT pg_advisory_xact_lock(hashtextextended('ledger check ' || ${id}, 0))`
    return checkLedger(database, id)
  })
  await other.$disconnect()
  expect(isChecked).toBe('busy')
  expect(await readCheck(id)).toBeNull()
  expect(await checkLedger(database, id)).toBe('done')
})
